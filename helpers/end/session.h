/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file session.h
 * An end of a job as its agent knows it: the socket to the agent, what is said on it, and the end that
 * speaks to the other one through it. The socket may break: then the agent of this host, perhaps a new
 * one, is looked for until the end gives up. Both ends do this alike; what only one of them does is in
 * its struct session_ops. Nothing but libc.
 */
#ifndef HELPERS_END_SESSION_H
#define HELPERS_END_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "helpers/end/hop.h"
#include "job/end.h"
#include "wire/attach.h"
#include "wire/frame.h"

#define SESSION_NEVER INT64_MAX

struct session_ops {
	struct job_end_ops end;
	/** The agent has connected this end to the other one: `attached` is new. */
	void (*attached)(void *ctx);
	/** A frame that only this end takes. 0, or -EPROTO. */
	int (*frame)(void *ctx, enum frame_type type, const uint8_t *payload, uint32_t length);
};

struct session {
	int64_t now; /**< milliseconds, at the begin of this round of the loop; the clock stands still in suspend */
	struct hop hop;
	struct job_end end;
	struct attached attached; /**< as the agent said last */
	bool known; /**< `attached` is valid */
	bool routed; /**< the agent has answered on this connection */
	bool tells; /**< the agent takes times */
	bool blocked; /**< the socket takes no more bytes now */
	uint32_t notes; /**< bit n: enum note_what n is to be told */
	struct note note; /**< what they say beside that */
	struct attach who; /**< what another agent is told of this end, beside what it was told */
	int64_t spare_at; /**< memory that is not needed is given back then; SESSION_NEVER */
	const struct session_ops *ops;
	void *ctx;
};

/** Begins, without a connection. `memory`: JOB_MEMORY bytes; start_ms: until the program must run;
 *  limit_ms: without a connection, until an agent says another limit. */
void session_init(struct session *s, enum job_role role, uint8_t *memory, int64_t start_ms,
		  int64_t limit_ms, const struct session_ops *ops, void *ctx);
/** Uses this socket, to an agent that knows of the job. */
void session_open(struct session *s, int socket);
/** The name of the program, as another agent is told it. */
void session_name(struct session *s, const char *path);
/** Takes what the agent has sent. */
void session_read(struct session *s);
/** Sends what there is to send. */
void session_write(struct session *s);
/** Without a socket: connects to the agent again, if it is time. True: it is connected now. */
bool session_again(struct session *s);
/** Tells the agent. Of a stop and of going on it hears the last one. */
void session_note(struct session *s, enum note_what what);
/** Says something to the other end. False: again later. What may not be said any more is of no use any more. */
bool session_say(struct session *s, const struct job_message *m);
/** Whether all that one step says has room now. If not: again after an acknowledgement. */
bool session_can_say(const struct session *s);
/** Waits `ms` at most until all that is due is written. */
void session_flush(struct session *s, int ms);
/** Gives back memory that holds nothing, if it is time. Returns whether it was. */
bool session_spare(struct session *s);
/** When one of these has something to do by the clock. */
int64_t session_deadline(const struct session *s);

#endif
