/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file guest.h
 * Guests: tasks of other nodes that run here, one for each stream of POST /v1/job.
 */
#ifndef AGENT_EXECUTOR_GUEST_H
#define AGENT_EXECUTOR_GUEST_H

#include <jansson.h>

struct agent;
struct h2_stream;
struct h2_stream_ops;
struct peer;

/** Handler of POST /v1/job. */
int guest_job(struct agent *agent, struct peer *from, struct h2_stream *s,
	      const struct h2_stream_ops **ops, void **ctx);
/** Guests here, those that have not started included. */
unsigned int guest_count(void);
/** The agent ends: kills all guests. */
void guest_shutdown(void);
/** Appends the guests, as in `tasks --json`. */
void guest_list(json_t *tasks);
/** Nothing is left in this guest's cgroup. */
void guest_emptied(struct agent *agent, const char *id);

#endif
