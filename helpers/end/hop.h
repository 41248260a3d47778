/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file hop.h
 * The socket between an end of a job and its agent, on either node: frames in both directions,
 * without waiting. Nothing but libc, as the ends are static and small.
 */
#ifndef HELPERS_END_HOP_H
#define HELPERS_END_HOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/end.h"
#include "wire/attach.h"
#include "wire/frame.h"

/** bytes that are read or written at once */
#define HOP_ROOM (4 * (FRAME_HEADER + FRAME_LINK_MAX))

struct hop {
	int socket; /**< -1: none */
	int64_t retry_at; /**< after hop_pause(): when hop_attach() is worth a try */
	int64_t pause_ms; /**< how long the last pause was; 0: none since the other end was there */
	size_t at, have; /**< part of `in` that was not taken yet */
	size_t from, to; /**< part of `out` that is to be written */
	bool asked; /**< the socket was read since the last event */
	bool earlier; /**< after hop_attach(): the agent is of an earlier version */
	bool ended; /**< a NUL stands at in[at], instead of `next` */
	uint8_t next;
	uint8_t in[HOP_ROOM + 1], out[HOP_ROOM];
};

/** Notes where this host's agent listens, and who it may be, for all later connections: call it before
 *  another host's files are seen. A connection then changes our current directory. */
void hop_know(void);
/**
 * Connects to the agent of this network namespace: see helpers/common/agent_address.h. Returns a
 * socket above descriptor 2, close-on-exec, or -errno; -EAGAIN: the agent accepts nobody at the
 * moment. earlier: NULL; or for what an agent knows already, which may be one of before, where
 * agent_address_earlier() says: then *earlier is set.
 */
int hop_connect(bool *earlier);
/** Connects to the agent again: queues FRAME_ATTACH with `a`, of which token, ID and other node are
 *  filled in here, as an earlier agent has told them. 0, or -errno as of hop_connect(). */
int hop_attach(struct hop *h, struct attach *a, const struct attached *told);
/** Uses this socket from now on, for frames of both directions. */
void hop_open(struct hop *h, int socket);
/** Closes it. What was not written, and part of a frame that was read, is dropped. */
void hop_close(struct hop *h);
/** Sets retry_at: a moment from now, and later each time until pause_ms is 0 again. */
void hop_pause(struct hop *h, int64_t now);
/**
 * Reads a frame. 1: *type, *payload (valid until the next call; a NUL follows it) and *length are
 * set; 0: no more is there, or it was read enough: again when the socket is readable; -errno: the
 * connection is over (-EPIPE) or the agent broke the protocol (-EPROTO). A caller
 * that begins to read goes on until it is not 1: poll() does not tell of what is here already.
 */
int hop_read(struct hop *h, enum frame_type *type, const uint8_t **payload, uint32_t *length);
/** Queues a frame of at most ATTACH_SIZE bytes. False: what is queued must be written first. */
bool hop_put(struct hop *h, enum frame_type type, const void *payload, uint32_t length);
/**
 * Writes what is queued, and then what `end` has to send (NULL: nothing). 0: all is written;
 * -EAGAIN: again when the socket is writable; -EPIPE: the connection is over.
 */
int hop_write(struct hop *h, struct job_end *end);
/** Gives memory back that holds nothing. Not while a payload is used. */
void hop_spare(struct hop *h);

#endif
