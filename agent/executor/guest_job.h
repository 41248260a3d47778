/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file guest_job.h
 * Jobs that other nodes send here.
 */
#ifndef AGENT_EXECUTOR_GUEST_JOB_H
#define AGENT_EXECUTOR_GUEST_JOB_H

struct agent;
struct guest;
struct h2_stream;
struct h2_stream_ops;
struct peer;

/** Handlers of POST /v1/start, and of POST /v1/job as homes of protocol 2 use it. 0 or an HTTP status. */
int guest_place(struct agent *agent, struct peer *from, struct h2_stream *s,
		const struct h2_stream_ops **ops, void **ctx);
int guest_job(struct agent *agent, struct peer *from, struct h2_stream *s,
	      const struct h2_stream_ops **ops, void **ctx);

/** It is not needed any more. */
void guest_drop_job(struct guest *g);

#endif
