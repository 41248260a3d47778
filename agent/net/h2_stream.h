/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file h2.h
 * HTTP/2 over TLS 1.3 between agents (nghttp2, libevent's bufferevents,
 * OpenSSL). One connection is shared by all requests and jobs to a peer. Each
 * received byte is acknowledged to the sender only when its stream's owner has
 * consumed it, so that memory is bounded by the window (H2_WINDOW a stream).
 */
#ifndef AGENT_NET_H2_STREAM_H
#define AGENT_NET_H2_STREAM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define H2_WINDOW 65536
#define H2_STREAMS 512 /**< at a time and connection */
#define H2_JSON_MAX (1u << 20) /**< largest JSON body */

struct peer; /* a node of the cluster, peer.h */
struct h2_stream;

/** What the owner of a stream is told. All calls come from the event loop. Each may be NULL. */
struct h2_stream_ops {
	/** Client only: the response has begun. */
	void (*response)(void *ctx, int status);
	/** Bytes came in; the owner calls h2_stream_consume() once it has disposed of them.
	 *  Non-zero: protocol error, the stream is reset. */
	int (*data)(void *ctx, const uint8_t *data, size_t length);
	/** The other side has ended its direction. */
	void (*end)(void *ctx);
	/** Fill up to `room` bytes. 0: nothing now, h2_stream_resume() will be called; -1: end. */
	ssize_t (*produce)(void *ctx, uint8_t *buf, size_t room);
	/** The stream is gone, cleanly or not; last call, the handle is dead after it. */
	void (*closed)(void *ctx, bool clean);
};

void h2_stream_resume(struct h2_stream *s);
void h2_stream_consume(struct h2_stream *s, size_t length);
/** Resets the stream; ops->closed is not called any more and the handle is dead. */
void h2_stream_abort(struct h2_stream *s);

#endif
