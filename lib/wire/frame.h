/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file frame.h
 * The framing of the agent's local socket (ehctl, ehstub, ehguest) and of a job's HTTP/2 stream
 * between two agents. No I/O here.
 *
 * A frame is an 8-byte header (type, zero, zero, zero, little-endian length) and `length` bytes. A
 * receiver closes the connection on an unknown type, on a frame longer than frame_limit(), and on
 * one that its state does not allow.
 */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include <stddef.h>
#include <stdint.h>

/* Bytes; the largest payload of a kind of frame is its …_MAX. */
#define FRAME_HEADER 8
#define FRAME_JSON_MAX (16u << 20)
#define FRAME_JOB_MAX (8u << 20) /**< ARG_MAX is at most 6 MiB */
#define FRAME_NAMED_MAX 65536
#define FRAME_ATTACH_MAX 512 /**< ATTACH, ATTACHED, NOTE */
#define FRAME_START_MAX 65536
#define FRAME_JOB_UNPLACED 65536 /**< of a JOB whose START asks for a place */
#define FRAME_CALLER_MAX (1u << 19) /**< of JOB_GROUPS_MAX groups */
#define FRAME_SEEN_MAX 256
#define FRAME_TEXT_MAX 4096 /**< text in REFUSED, GONE */
#define FRAME_DATA_MAX 16384 /**< of a task, in one LINK */
#define FRAME_LINK_MAX (20 + 4 + FRAME_DATA_MAX) /**< job/link.h, job/message.h */

enum frame_type {
	/* a job on its way: stub -> agent -> executor's agent -> ehguest */
	FRAME_JOB = 1, /**< struct job_spec, encoded */
	FRAME_NAMED, /**< files that the arguments name, wire/named.h: before the JOB from the stub and
		      *   to ehguest, behind it between agents */
	FRAME_REFUSED, /**< back: u32 reason (enum ehs_reason; 0: the chosen node is this one), u32
			 *   errno or 0, text; nothing has started */
	/* its two ends, job/end.h, and their agents */
	FRAME_LINK, /**< between the two ends; the agents pass it on unread */
	FRAME_ATTACH, /**< end -> agent, home's agent -> executor's, first on a connection: struct attach,
		       *   of a job that runs already */
	FRAME_ATTACHED, /**< agent -> end: it is connected to the other end. struct attached.
			 *   executor's agent -> home's: the executor's end is there; empty */
	FRAME_DETACHED, /**< agent -> end: no longer; the agent tries again */
	FRAME_GONE, /**< the other end has gone forever */
	FRAME_PAUSED, /**< home's agent -> the executor's end: u32, whether the stub is stopped. No stub
		       *   sees its own SIGSTOP */
	FRAME_NOTE, /**< end -> agent: struct note, what became of the job, for records and accounts */
	/** agent -> end: NOTE_ENDED is recorded, and accounted for; to home's perhaps 1: it was killed because
	 *  memory was short */
	FRAME_NOTED,
	/* ehctl <-> agent, JSON */
	FRAME_REQUEST,
	FRAME_REPLY,
	FRAME_EVENT,
	/* keeper of a view's side -> agent, first on a connection */
	FRAME_KEPT, /**< struct kept; then as behind LAUNCH_READY of wire/launch.h */
	/* home's agent -> executor's, before the JOB: POST /v1/start */
	FRAME_START, /**< JSON: as the body of POST /v1/reserve, or the token that this was answered with */
	FRAME_CALLER, /**< struct caller */
	FRAME_ADMISSION, /**< back, if it had no token: JSON, as the answer to POST /v1/reserve */
	FRAME_SEEN, /**< an end to its agent: wire/seen.h; of the stub, before the JOB */
	FRAME_TYPES
};

/** Returns the bytes of the largest payload of a type, 0 for an unknown one. */
uint32_t frame_limit(unsigned int type);

/** Writes a header; `length`: bytes of payload. */
void frame_header(uint8_t out[FRAME_HEADER], enum frame_type type, uint32_t length);

/** Reads a header. Returns 0, -EPROTO (unknown type, reserved bits) or -EMSGSIZE (above
 *  frame_limit(); type and length are set). */
int frame_parse(const uint8_t in[FRAME_HEADER], enum frame_type *type, uint32_t *length);

/** How a task ended and what it used; eight little-endian u64. */
struct frame_exit {
	uint64_t status; /**< as from waitpid() */
	uint64_t user_us, system_us; /**< of the task and the children it waited for */
	uint64_t maxrss_kib, minflt, majflt, nvcsw, nivcsw;
};
#define FRAME_EXIT_SIZE 64

void frame_exit_encode(uint8_t out[FRAME_EXIT_SIZE], const struct frame_exit *x);
/** Returns 0, or -EBADMSG: another length, or a status that no task ends with. */
int frame_exit_decode(struct frame_exit *x, const uint8_t *in, size_t length);

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
