/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file guest.h
 * Guests: tasks of other nodes that run here. Each has a process of its user, ehguest, which is the
 * executor's end of its job; this agent starts it and routes between it and the home node.
 */
#ifndef AGENT_EXECUTOR_GUEST_H
#define AGENT_EXECUTOR_GUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct agent;
struct h2_stream;
struct h2_stream_ops;
struct peer;
struct timing;

int guest_init(struct agent *agent); /**< 0 or -errno */
/** Forgets all guests. They connect to the next agent. */
void guest_exit(struct agent *agent);
/** Ends all guests at once; `why`: what those are told that have not begun. */
void guest_end_all(struct agent *agent, const char *why);
/** Ends one, at once. 0, -ENOENT: there is none of this ID, or -EAGAIN: it has not begun yet. */
int guest_cancel(struct agent *agent, const char *id);
/** A view of an earlier agent has been found: guests that are in it use it from now on. */
void guest_join_views(struct agent *agent);
/** Appends the guests to `tasks`, in the form of `tasks --json`. */
void guest_list(struct agent *agent, json_t *tasks);
/**
 * Handler of GET /v1/guests: how many there are, with those that will start, which is the oldest,
 * whether this node drains, and what the tasks of the asking home use.
 */
json_t *guest_on_ask(struct agent *agent, struct peer *from, const json_t *body, int *status);

/** The steps of a guest of this ID that is here, or was among the last that were; false: it is not known. */
bool guest_timing(const struct agent *agent, const char *id, struct timing *out);
/** Handler of POST /v1/timing: the same for a guest of the asking home. */
json_t *guest_on_timing(struct agent *agent, struct peer *from, const json_t *body, int *status);

/** Handlers of POST /v1/start, and of POST /v1/job as homes of protocol 2 use it. 0 or an HTTP status. */
int guest_place(struct agent *agent, struct peer *from, struct h2_stream *s,
		const struct h2_stream_ops **ops, void **ctx);
int guest_job(struct agent *agent, struct peer *from, struct h2_stream *s,
	      const struct h2_stream_ops **ops, void **ctx);
/** Handler of POST /v1/resume: home wants to go on with a job. 0 or an HTTP status. */
int guest_resume(struct agent *agent, struct peer *from, struct h2_stream *s,
		 const struct h2_stream_ops **ops, void **ctx);
/** An ehguest has connected to this agent: FRAME_ATTACH. Takes over the socket. */
void guest_attach(struct agent *agent, int socket, const uint8_t *payload, size_t length, pid_t pid,
		  uid_t uid);

#endif
