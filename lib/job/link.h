/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file link.h
 * Frames between the two ends of a job, each delivered once and in order, over connections that
 * may break at any moment and be replaced.
 *
 * Each frame has a number. A sender keeps it until the other end has acknowledged it; on a new
 * connection both ends first say what they have received (LINK_HELLO), and all that is missing is
 * sent again; on the first one nothing can be, so frames follow the hello at once. A receiver takes the number that it expects and drops every other one, so that what
 * an earlier connection left on the way does no harm. What is kept is bounded by the memory that
 * the owner gave; nothing is allocated. No I/O, and nothing but libc.
 *
 * On the way, a frame is the payload of one FRAME_LINK (wire/frame.h):
 *   u64 number (0: not numbered), u64 acknowledged, u32 type, body; little-endian.
 */
#ifndef JOB_LINK_H
#define JOB_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINK_HEADER 20 /**< bytes before the body */
#define LINK_ACK_EVERY 4 /**< frames that are taken before an acknowledgement is sent alone */
#define LINK_KEPT 8 /**< bytes of memory that a kept frame needs beside its body */
/** Types of its own; those of the owner are below. */
#define LINK_HELLO 0xffffffffu /**< acknowledged: the next number that is expected */
#define LINK_ACK 0xfffffffeu

struct job_link {
	uint8_t *memory; /**< ring of kept frames: u32 type, u32 length, body */
	size_t size;
	uint64_t tail, next, head; /**< offsets: oldest kept, next to be sent, end */
	uint64_t tail_number, next_number, head_number; /**< of the frames at these offsets */
	uint64_t sent; /**< no frame from this number on was ever sent */
	uint64_t expected; /**< number of the next frame to be taken */
	uint64_t told; /**< `expected` as the other end was last told */
	uint64_t held; /**< what it is told instead, see job_link_hold(); 0: nothing */
	bool attached; /**< there is a connection */
	bool any, first; /**< there was a connection; this is the first: nothing can be missing */
	bool greeted; /**< the other end's hello of this connection was taken */
	bool hello_due, ack_due;
};

struct job_link_frame {
	uint32_t type;
	const uint8_t *body; /**< in the payload that was taken */
	size_t length;
};

/** `memory`: `size` bytes, which the link uses from now on. The other end acknowledges every
 *  LINK_ACK_EVERY frames: there must be room for that many of the longest, and one more. */
void job_link_init(struct job_link *l, uint8_t *memory, size_t size);
/** There is a new connection; the one before, if any, is over. */
void job_link_attach(struct job_link *l);
/** The connection is over. What is not acknowledged is kept. */
void job_link_detach(struct job_link *l);

/** Returns the bytes of the longest body that job_link_put() would take now. */
size_t job_link_room(const struct job_link *l);
/** Keeps a frame and sends it as soon as that is possible. False: no room. */
bool job_link_put(struct job_link *l, uint32_t type, const uint8_t *body, size_t length);
/**
 * Takes the payload of a FRAME_LINK. 1: *frame is the next frame, valid as long as the payload;
 * 0: nothing new; -EPROTO: malformed, or numbers that the other end cannot have.
 */
int job_link_take(struct job_link *l, const uint8_t *payload, size_t length,
		  struct job_link_frame *frame);
/**
 * Writes the next FRAME_LINK to send, with the header of frame.h, if it fits into `room` bytes.
 * Returns its length, 0: there is none, or it does not fit.
 */
size_t job_link_next(struct job_link *l, uint8_t *out, size_t room);
/**
 * From now on nothing more is acknowledged, until this is called with false. The other end can send
 * what its memory holds, and no more: an owner that does not work off what it takes has a bound.
 */
void job_link_hold(struct job_link *l, bool hold);
/** Acknowledges what was taken, without waiting for a frame that says so. */
void job_link_acknowledge(struct job_link *l);
/** Whether the other end has acknowledged all frames. */
bool job_link_settled(const struct job_link *l);

#endif
