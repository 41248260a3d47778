/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file frame.h
 * The framing of the agent's local socket (ehctl, ehstub) and of a job's HTTP/2
 * stream between two agents. No I/O here.
 *
 * A frame is an 8-byte header (type, zero, zero, zero, little-endian length)
 * and `length` bytes. A receiver closes the connection on an unknown type, on a
 * frame longer than frame_limit(), and on one that its state does not allow.
 */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include <stddef.h>
#include <stdint.h>

/* Bytes; the largest payload of a kind of frame is its …_MAX. */
#define FRAME_HEADER 8
#define FRAME_DATA_MAX 16384
#define FRAME_WINDOW 65536 /**< of a descriptor in flight without a WANT */
#define FRAME_TERMINAL_MAX 48 /**< modes, perhaps a u32: terminal.h */
#define FRAME_JSON_MAX (16u << 20)
#define FRAME_JOB_MAX (8u << 20) /**< ARG_MAX is at most 6 MiB */
#define FRAME_NAMED_MAX 65536
#define FRAME_LINK_MAX (20 + 4 + FRAME_DATA_MAX) /**< job/link.h, job/message.h */
#define FRAME_TEXT_MAX 4096 /**< text in STARTED, REFUSED, LOST, RERUN */

/** The agent's local socket: an abstract name, so there is one per network namespace.
 *  A client checks with SO_PEERCRED that root or its own user listens. */
#define AGENT_SOCKET "ehsched"

enum frame_type {
	/* stub -> agent -> executor */
	FRAME_JOB = 1, /**< struct job_spec, encoded; from a stub with descriptors 0-2 attached */
	FRAME_GO, /**< agent -> executor: exec now. Nothing has started before it */
	FRAME_STDIN, /**< data; empty: end of file */
	FRAME_SIGNAL, /**< u32 signal, u32 1: for the whole process group (from a terminal) */
	FRAME_CLOSED, /**< u32 fd: 1, 2 or 3 (the terminal) has no reader at home any more, or 0 there */
	/* executor -> agent -> stub */
	FRAME_READY, /**< executor -> agent: prepared, waiting for GO */
	FRAME_COMMIT, /**< agent -> stub: GO is about to be sent; after this only REFUSED permits a
		       *   local run */
	FRAME_STARTED, /**< u32 pid there, then the executor's node code as text */
	FRAME_REFUSED, /**< u32 reason (enum ehs_reason; 0: the chosen node is this one), u32 errno
			 *   or 0, text; nothing has started */
	FRAME_STDOUT, /**< data; empty: closed by the task */
	FRAME_STDERR,
	FRAME_STOPPED, /**< u32 signal */
	FRAME_CONTINUED,
	FRAME_EXIT, /**< struct frame_exit; follows all output written before the exit */
	FRAME_LOST, /**< agent -> stub: text for the user; the task is reported as killed */
	FRAME_TAKEN, /**< executor -> agent: u64, bytes of STDIN that the task has read; before EXIT. For
		      *   a terminal: bytes of all TYPED (an end of file counts as one), also before STOPPED.
		      *   agent -> executor: the rest was given back and must not be read there */
	/* agent <-> executor */
	FRAME_WANT, /**< u32 fd, u32 bytes: this many more may be sent of it. Starts as FRAME_WINDOW.
			 *   So a full pipe never delays a signal or an exit */
	/* agent -> executor, after JOB */
	FRAME_NAMED, /**< files that the arguments name, see agent/job/argfiles.h; answer: REFUSED or
		      *   none */
	/* ehctl <-> agent, JSON */
	FRAME_REQUEST,
	FRAME_REPLY,
	FRAME_EVENT,
	/* agent -> stub */
	FRAME_RERUN, /**< u32, bit n: descriptor n is given back (attached, in ascending order);
			*   text for the user. The executor is lost: run the task again here */
	/* a task's terminal */
	FRAME_TERMINAL, /**< struct terminal, the modes from now on. executor -> agent: set by the task
			 *   (followed by u32 1: drop typed input that was not read);
			 *   agent -> executor: set at home. In order with SHOWN */
	FRAME_READABLE, /**< stub -> agent -> executor: input is available; answered with WANT of
			 *   descriptor 0 (also agent -> stub) when the task waits for it */
	FRAME_TYPED, /**< stub -> agent -> executor: answers WANT; the result of one read, empty: end of
		      *   file. Or stub -> agent WANT of 0 bytes: another process has read it */
	FRAME_FOREGROUND, /**< stub -> agent -> executor: u32, whether its group is the foreground group */
	FRAME_SHOWN, /**< executor -> agent: data, written to the terminal; descriptor 3 of WANT and
		      *   CLOSED */
	/* an end of a job and its agent; job/end.h */
	FRAME_LINK, /**< between the two ends; the agents pass it on unread */
	FRAME_ATTACH, /**< end -> agent, first on a connection: struct attach, of a job that runs already */
	FRAME_ATTACHED, /**< agent -> end: it is connected to the other end. struct attached */
	FRAME_DETACHED, /**< agent -> end: no longer; the agent tries again */
	FRAME_PAUSED, /**< home's agent -> the executor's end: u32, whether the stub is stopped. No stub
		       *   sees its own SIGSTOP */
	FRAME_GONE, /**< the other end has gone for ever: text */
	FRAME_NOTE, /**< end -> agent: struct note, what became of the job, for records and accounts */
	FRAME_NOTED, /**< agent -> end: the note is recorded, and accounted for */
	FRAME_TYPES
};

/** Returns the bytes of the largest payload of a type, 0 for an unknown one. */
uint32_t frame_limit(unsigned int type);

/** Writes a header; `length`: bytes of payload. */
void frame_header(uint8_t out[FRAME_HEADER], enum frame_type type, uint32_t length);

/** Reads a header. Returns 0, -EPROTO (unknown type, reserved bits) or -EMSGSIZE (above
 *  frame_limit(); type and length are set). */
int frame_parse(const uint8_t in[FRAME_HEADER], enum frame_type *type, uint32_t *length);

/** What a receiver does with one type of frame. Its table ends with an empty rule. */
struct frame_rule {
	enum frame_type type;
	unsigned int states; /**< in which it is allowed: FRAME_IN() of each, or FRAME_ANY_STATE */
	uint32_t min, max; /**< bytes of payload */
	/** Returns 0 or -errno. */
	int (*take)(void *ctx, const uint8_t *payload, uint32_t length);
};

#define FRAME_IN(state) (1u << (state)) /**< state: 0-31 */
#define FRAME_ANY_STATE ~0u

/** Returns the rule for this type, or NULL. */
const struct frame_rule *frame_rule_of(const struct frame_rule *rules, enum frame_type type);
/** Returns what take() returns, or -EPROTO: no rule for this type, not allowed in this state, or a
 *  payload that is too short or too long. */
int frame_dispatch(const struct frame_rule *rules, unsigned int state, enum frame_type type,
		   void *ctx, const uint8_t *payload, uint32_t length);

/** Payload of FRAME_EXIT: eight little-endian u64. */
struct frame_exit {
	uint64_t status; /**< as from waitpid() */
	uint64_t user_us, system_us; /**< of the task and the children it waited for */
	uint64_t maxrss_kib, minflt, majflt, nvcsw, nivcsw;
};
#define FRAME_EXIT_SIZE 64

void frame_exit_encode(uint8_t out[FRAME_EXIT_SIZE], const struct frame_exit *x);
/** Returns 0, or -EBADMSG: another length, or a status that no task ends with. */
int frame_exit_decode(struct frame_exit *x, const uint8_t *in, size_t length);

#define FRAME_TYPED_MAX 4096 /**< bytes of the longest line of a terminal */
#define FRAME_TAKEN_SIZE 8 /**< bytes of FRAME_TAKEN's payload, a u64 */

static inline void frame_put_u32(uint8_t *p, uint32_t v)
{
	p[0] = v;
	p[1] = v >> 8;
	p[2] = v >> 16;
	p[3] = v >> 24;
}

static inline uint32_t frame_get_u32(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline void frame_put_u64(uint8_t *p, uint64_t v)
{
	frame_put_u32(p, v);
	frame_put_u32(p + 4, v >> 32);
}

static inline uint64_t frame_get_u64(const uint8_t *p)
{
	return frame_get_u32(p) | (uint64_t)frame_get_u32(p + 4) << 32;
}

#endif
