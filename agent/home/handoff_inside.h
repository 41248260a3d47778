/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file handoff_inside.h
 * A task that is away, at home: shared by departure.c (until its job
 * is sent), handoff.c (the job's stream), stub.c (the process that stands in for
 * it) and rerun.c (when it was lost).
 */
#ifndef AGENT_HOME_HANDOFF_INSIDE_H
#define AGENT_HOME_HANDOFF_INSIDE_H

#include <event2/event.h>
#include "base/agent.h"
#include "home/placement.h"
#include "home/terminal.h"
#include "job/channel.h"
#include "net/h2_stream.h"

enum handoff_state {
	HANDOFF_ASKING, /* an explicit one waits for its placement */
	HANDOFF_SENT, /* waits for READY */
	HANDOFF_COMMITTED, /* GO is queued or sent */
	HANDOFF_RUNNING,
	HANDOFF_EXITED, /* FRAME_EXIT has come; output may still be to be written */
	HANDOFF_LOST, /* what came of its output is still to be written */
	HANDOFF_OVER, /* the stub has been told; only the rest is relayed */
};

#define HANDOFF_SINKS 3
#define HANDOFF_TEXT 320 /* a message for the user */

struct handoffs {
	struct handoff *list;
	unsigned int count;
	struct event *stub_timer; /* while any is away */
};

struct handoff {
	struct agent *agent;
	struct handoff *next;
	enum handoff_state state;
	int stub; /* socket; -1: closed */
	struct event *reading; /* of it */
	void (*stub_gone)(struct handoff *h); /* it was killed, or broke the rules */
	struct event *later; /* looks whether it is over, outside of all calls */
	struct event *limit; /* until READY */
	uint8_t frame[FRAME_HEADER + FRAME_TYPED_MAX]; /* from the stub */
	unsigned int have;
	pid_t pid;
	bool asking; /* departure_on_decided() will be called */
	bool automatic; /* the hierarchy may also say that it runs here */
	bool stopped_there, stopped_by_us;
	uint32_t stop; /* its stub is to stop by this signal, once it has answered; 0: not */
	enum view view; /* of its placement */
	struct peer *to; /* where its job went; NULL: not sent */
	uid_t uid;
	bool retry; /* the user allows a second run */
	bool started; /* descriptors are the relays' */
	uint32_t flags; /* of the job */
	struct placement *placement;
	struct channel channel;
	uint8_t *job; /* FRAME_JOB as it will be sent; NULL: sent or not yet known */
	size_t job_length, job_sent;
	uint8_t *named; /* FRAME_NAMED that goes behind it; NULL: nothing named, or sent */
	size_t named_length;
	struct relay_source in;
	struct relay_sink out[HANDOFF_SINKS]; /* 1, 2 and the terminal */
	struct terminal_home terminal;
	int fds[3]; /* until the task has started; /dev/null for a second run */
	uint64_t exit_at
		[HANDOFF_SINKS]; /* sink.done at which all output before the exit is written */
	uint8_t exit[FRAME_EXIT_SIZE];
};

/** Looks whether it is over, outside of all calls. */
static inline void handoff_later(struct handoff *h)
{
	event_active(h->later, 0, 0);
}

/** handoff.c: a new one, for the stub at this socket. NULL: no memory; socket and descriptors stay open. */
struct handoff *handoff_new(struct agent *agent, int socket, int fds[3], pid_t pid);
/** handoff.c: nothing has started; the stub runs it at home, or says why not. */
void handoff_refuse(struct handoff *h, enum ehs_reason reason, uint32_t error, const char *text);
/** handoff.c: the job's stream. */
extern const struct h2_stream_ops handoff_ops;

#endif
