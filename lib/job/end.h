/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file end.h
 * One end of a job: what may be said in which state, credit of each channel, time limits. Both
 * ends are this one machine in two roles. Its drivers are the stub, the executor's end and the
 * tests: a driver gives it what came from its agent, sends what it wants to send, and looks after
 * descriptors and processes. The machine has no I/O, no clock, no threads, and allocates nothing.
 *
 *   home      PREPARING ─READY→ PREPARED ─GO→ COMMITTED ─STARTED→ RUNNING ─EXIT→ FINISHED
 *   executor  the same states, entered when the same message is said     └ more → ENDED ─OVER→ ┘
 *
 * Before GO a job that breaks has not started: home runs it. After it, both ends wait for a new
 * connection for the time limit, and then it is lost: home reports it as killed, the executor's
 * end kills it. GO is delivered once, as every message is, so a program is executed once at most.
 */
#ifndef JOB_END_H
#define JOB_END_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/link.h"
#include "job/message.h"

/** Bytes of a channel that may be on the way, where input is sent without being asked for. */
#define JOB_WINDOW (256u << 10)
/** More credit is told in steps of this. A source of copies must have room for two. */
#define JOB_STEP (32u << 10)
/** Bytes of memory that a link keeps unacknowledged messages in. */
#define JOB_MEMORY (384u << 10)

enum job_role { JOB_HOME, JOB_EXECUTOR };

enum job_state {
	JOB_PREPARING,
	JOB_PREPARED,
	JOB_COMMITTED,
	JOB_RUNNING,
	JOB_ENDED, /**< the task has ended, children of it still write */
	JOB_FINISHED,
	JOB_LOST, /**< the other end is gone, or cannot be reached in time */
};

/**
 * Towards home data flow within a window, of which home grants more as it is written. Towards the
 * executor a program's wish to read is told (JOB_WANT), and answered once, by JOB_DATA, JOB_NONE or
 * JOB_END: what the answer leaves of the credit is void. If home offers to read ahead, copies flow
 * within a window instead, from then on: neither JOB_NONE nor data that are not copies follow.
 */
struct job_channel {
	uint64_t may, sent; /**< bytes: the other end's credit; what it was sent */
	uint64_t granted, told, got; /**< our credit; as it knows it; what came */
	uint64_t read, read_told; /**< of what came, what the program has read; as it knows it */
	uint64_t step; /**< our credit is told in steps of this; 0: at once */
	bool unsure; /**< at home: the executor is. There: home is to be told so */
	bool unsure_told; /**< it was, of this offer */
	bool shut; /**< the next JOB_END or JOB_CLOSED is by shutdown() */
	bool ahead; /**< home has offered to read ahead */
	bool ended; /**< we have said JOB_END */
	bool over; /**< the other end has */
	bool closed; /**< the other end reads no more */
};

struct job_end;

struct job_end_ops {
	/** A message, in order and once. What it points to is valid during the call only. 0, or
	 *  -errno: the other end broke the protocol. */
	int (*message)(void *ctx, const struct job_message *m);
	/** The job is lost; called once, from the call that noticed it. `before`: the state until now.
	 *  Below JOB_COMMITTED nothing has started, and nothing will. */
	void (*lost)(void *ctx, enum job_state before);
};

struct job_end {
	enum job_role role;
	enum job_state state;
	struct job_link link;
	struct job_channel channels[JOB_CHANNELS];
	uint32_t nchannels; /**< of these are in use */
	const struct job_end_ops *ops;
	void *ctx;
	int64_t start_ms; /**< until the program must run */
	int64_t limit_ms; /**< without a connection */
	int64_t deadline; /**< without a connection, or until the start: job_end_tick(); INT64_MAX: none */
	int64_t detached; /**< when the last connection broke */
	bool again; /**< one has broken since `deadline` was set for the start */
};

/**
 * Begins. `memory`: JOB_MEMORY bytes; start_ms: until the program must run; limit_ms: without a
 * connection. `now` is any clock in milliseconds that stands still while the host sleeps.
 */
void job_end_init(struct job_end *e, enum job_role role, uint8_t *memory, int64_t now,
		  int64_t start_ms, int64_t limit_ms, const struct job_end_ops *ops, void *ctx);

/** The job has the first `n` channels, at least JOB_CHANNELS_USUAL, as job_end_init() gives it. To be
 *  said before anything comes, and by both ends alike. */
void job_end_channels(struct job_end *e, uint32_t n);

/* ---- the connection ---- */

/** The agents have connected this end to the other one, perhaps again. Before the start the deadline
 *  may have passed then: the next job_end_tick() sets a new one, and the job is not lost. */
void job_end_attach(struct job_end *e);
/** That connection is over, or at home's end before JOB_GO: there will be none. */
void job_end_detach(struct job_end *e, int64_t now);
/** The other end has gone forever, as the agents say or as is found here. */
void job_end_gone(struct job_end *e);
/** Takes the payload of a FRAME_LINK. 0, -EPROTO, or what ops->message() returned; after an error
 *  the connection is of no use, and the job is lost. */
int job_end_take(struct job_end *e, const uint8_t *payload, size_t length);
/** Writes the next FRAME_LINK, at most FRAME_HEADER + LINK_HEADER + JOB_MESSAGE_MAX bytes. Returns
 *  its length, 0: there is none. */
size_t job_end_next(struct job_end *e, uint8_t *out, size_t room);
/** To be called at the deadline. */
void job_end_tick(struct job_end *e, int64_t now);
/** Changes the limit without a connection; it begins again. */
void job_end_set_limit(struct job_end *e, int64_t now, int64_t limit_ms);
/** The task runs, or children of it do: data can be said. */
bool job_end_writes(const struct job_end *e);
/** Whether nothing is left to be sent or waited for. At home: after the final acknowledgement was
 *  given to job_end_next(). */
bool job_end_done(const struct job_end *e);

/* ---- messages ---- */

/**
 * Says something, in order with all other messages; channel credit and data have functions of their
 * own. 0, -EAGAIN: no room, again after the next message or acknowledgement; -EPROTO: not allowed
 * in this state (or JOB_NONE without a JOB_WANT, a second JOB_END, a text that is too long);
 * -EPIPE: the job is lost.
 */
int job_end_say(struct job_end *e, const struct job_message *m);

/** Returns the bytes of data that this channel can take now, at most JOB_DATA_MAX. */
size_t job_end_room(const struct job_end *e, uint32_t channel);
/** Sends at most job_end_room() bytes; `copy`: see struct job_message. */
void job_end_send(struct job_end *e, uint32_t channel, const uint8_t *bytes, size_t n, bool copy);
/** The other end may send `n` more bytes of this channel, up to JOB_WINDOW in all. At the executor's
 *  end nothing changes before it has answered what was asked for. */
void job_end_grant(struct job_end *e, uint32_t channel, size_t n);
/** Tells home that there may be readers of which it is not seen how much they wait for, with or without
 *  credit; once for each offer. At the executor's end. */
void job_end_unsure(struct job_end *e, uint32_t channel);
/** Bytes that were granted and have not come; 0: what was asked for has been answered. */
uint64_t job_end_granted(const struct job_end *e, uint32_t channel);
/** The executor's program has read `total` bytes of this channel. Told with more credit, and before
 *  JOB_STOPPED, JOB_CLOSED, JOB_EXIT and JOB_OVER. */
void job_end_read(struct job_end *e, uint32_t channel, uint64_t total);

#endif
