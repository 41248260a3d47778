/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file h2_stream.h
 * HTTP/2 over TLS 1.3 between agents (nghttp2, libevent's bufferevents,
 * OpenSSL). One connection is shared by all requests and jobs to a peer. Each
 * received byte is acknowledged to the sender only when its stream's owner has
 * consumed it, so that memory is bounded by the window (H2_WINDOW a stream).
 */
#ifndef AGENT_NET_H2_STREAM_H
#define AGENT_NET_H2_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define H2_WINDOW 65536
#define H2_STREAMS 512 /**< at a time and connection */
#define H2_WAITING 64 /**< streams that may wait for h2_stream_send_later() */
#define H2_JSON_MAX (1u << 20) /**< largest JSON body */

struct h2_conn; /* h2_conn.h */
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

/* ---- for those who own the connection ---- */

/** Whether there are streams. */
bool h2_stream_any(const struct h2_conn *conn);

/** Client: opens a stream now. NULL (errno): ENOTCONN (not ready or over), ENOMEM. */
struct h2_stream *h2_stream_open(struct h2_conn *conn, const char *method, const char *path,
				 const struct h2_stream_ops *ops, void *ctx);
/** Client: opens a stream that goes out with h2_stream_send_later(), and is closed if the connection
 *  ends before. NULL (errno): EAGAIN (H2_WAITING of them are there), ENOTCONN, ENOMEM. */
struct h2_stream *h2_stream_open_later(struct h2_conn *conn, const char *method, const char *path,
				       const struct h2_stream_ops *ops, void *ctx);
void h2_stream_send_later(struct h2_conn *conn);
/** Server: who is told of the stream's events from now. */
void h2_stream_accept(struct h2_stream *s, const struct h2_stream_ops *ops, void *ctx);
/** Server: sends the status; the body comes from ops->produce. 0 or -errno. */
int h2_stream_respond(struct h2_stream *s, int status, const char *type);

/** The connection: the other side has begun a stream. NULL: no memory. */
struct h2_stream *h2_stream_add(struct h2_conn *conn);
/** The connection: the stream is over; tells its owner and drops it. */
void h2_stream_end(struct h2_stream *s, bool clean);

#endif
