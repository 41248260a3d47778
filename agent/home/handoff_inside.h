/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file handoff_inside.h
 * A task that is away, shared by departure.c (until its job is sent), handoff.c (the job's stream),
 * stub.c (the process that stands in for it) and rerun.c (after a loss).
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
	HANDOFF_ASKING, /* waits for its placement (not placed by the module) */
	HANDOFF_SENT, /* waits for READY */
	HANDOFF_COMMITTED, /* GO is queued or sent */
	HANDOFF_RUNNING,
	HANDOFF_EXITED, /* FRAME_EXIT has arrived; output may remain to be written */
	HANDOFF_LOST, /* remaining output is being written */
	HANDOFF_OVER, /* the stub knows the end; only other output is relayed */
};

#define HANDOFF_SINKS 3
#define HANDOFF_TEXT 320 /* bytes of a message for the user */

struct handoffs {
	struct handoff *list;
	unsigned int count;
	struct event *stub_timer; /* while a task is away */
};

struct handoff {
	struct agent *agent;
	struct handoff *next;
	enum handoff_state state;
	int stub; /* socket; -1: closed */
	struct event *reading; /* from the stub */
	/* called when the stub was killed or broke the protocol */
	void (*stub_gone)(struct handoff *h);
	struct event *later; /* checks for the end, from the event loop */
	struct event *limit; /* until READY */
	uint8_t frame[FRAME_HEADER + FRAME_TYPED_MAX]; /* being received from the stub */
	unsigned int have;
	pid_t pid;
	bool asking; /* departure_on_decided() will be called */
	bool automatic; /* the hierarchy may decide that it runs here */
	bool stopped_there, stopped_by_us;
	uint32_t stop; /* signal to stop the stub with, once it has answered; 0: none */
	enum view view; /* of its placement */
	struct peer *to; /* the executor; NULL: not sent */
	uid_t uid;
	bool retry; /* the user allows it to be run again */
	bool started; /* the relays own the descriptors */
	uint32_t flags; /* of the job */
	struct placement *placement;
	struct channel channel;
	uint8_t *job; /* FRAME_JOB to send; NULL: sent or not known yet */
	size_t job_length, job_sent;
	uint8_t *named; /* FRAME_NAMED to follow it; NULL: nothing named, or sent */
	size_t named_length;
	struct relay_source in;
	struct relay_sink out[HANDOFF_SINKS]; /* 1, 2 and the terminal */
	struct terminal_home terminal;
	int fds[3]; /* until the task has started; /dev/null if it may be run again */
	/* values of sink.done when all output from before the exit is written */
	uint64_t exit_at[HANDOFF_SINKS];
	uint8_t exit[FRAME_EXIT_SIZE];
};

/** Checks for the end, later from the event loop. */
static inline void handoff_later(struct handoff *h)
{
	event_active(h->later, 0, 0);
}

/**
 * handoff.c: a new one for the stub at this socket. Takes over socket and descriptors, except on
 * failure. NULL: out of memory.
 */
struct handoff *handoff_new(struct agent *agent, int socket, int fds[3], pid_t pid);
/** handoff.c: nothing has started. The stub runs the task at home, or reports why it cannot. */
void handoff_refuse(struct handoff *h, enum ehs_reason reason, uint32_t error, const char *text);
/** handoff.c: of the job's stream. */
extern const struct h2_stream_ops handoff_ops;

#endif
