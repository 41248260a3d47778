/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file h2_stream.h
 * HTTP/2 over TLS 1.3 between agents (nghttp2, libevent's bufferevents,
 * OpenSSL). One connection is shared by all requests and jobs to a peer. Each
 * received byte is acknowledged to the sender only when its stream's owner has
 * consumed it, so that memory is bounded by the window (H2_WINDOW per stream).
 */
#ifndef AGENT_NET_H2_STREAM_H
#define AGENT_NET_H2_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define H2_WINDOW 262144
#define H2_STREAMS 512 /**< per connection, at a time */
#define H2_RESETS 4096 /**< that a peer may do at once, and each second */
#define H2_WAITING 64 /**< streams that may wait for h2_stream_send_later() */
#define H2_JSON_MAX (1u << 20) /**< largest JSON body */
#define H2_FIRST_MS 10000 /**< until the other side of a stream has said what it is for */

struct h2_conn; /* h2_conn.h */
struct h2_stream;

/** Callbacks to the owner of a stream, from the event loop. Each may be NULL. */
struct h2_stream_ops {
	/** Client only: the response starts. */
	void (*response)(void *ctx, int status);
	/** Bytes arrived; the owner calls h2_stream_consume() when it is done with them.
	 *  Non-zero: protocol error, the stream is reset. */
	int (*data)(void *ctx, const uint8_t *data, size_t length);
	/** The other side has ended its direction. */
	void (*end)(void *ctx);
	/** Provides up to `room` bytes. 0: none now, h2_stream_resume() follows; -1: end. */
	ssize_t (*produce)(void *ctx, uint8_t *buf, size_t room);
	/** The stream ended, cleanly or not; the last call: the handle is then invalid. */
	void (*closed)(void *ctx, bool clean);
};

/** ops->produce has bytes again. */
void h2_stream_resume(struct h2_stream *s);
/** The owner is done with bytes that it got, and the other side may send as many more. */
void h2_stream_consume(struct h2_stream *s, size_t length);
/** Resets the stream; ops->closed is not called, and the handle is invalid. */
void h2_stream_abort(struct h2_stream *s);

/** The owner keeps this many more bytes for it, besides what is not consumed; false: that is too much for
 *  this host. They are counted until the stream ends or is aborted. */
bool h2_stream_keep(struct h2_stream *s, size_t length);
void h2_stream_unkeep(struct h2_stream *s, size_t length);

/* ---- for the owner of the connection ---- */

/** Whether there are streams. */
bool h2_stream_any(const struct h2_conn *conn);

/** Client: opens a stream now. NULL (errno): ENOTCONN (not ready or over), ENOMEM. */
struct h2_stream *h2_stream_open(struct h2_conn *conn, const char *method, const char *path,
				 const struct h2_stream_ops *ops, void *ctx);
/** Client: opens a stream that h2_stream_send_later() sends; it is closed if the connection ends
 *  first. NULL (errno): EAGAIN (H2_WAITING of them wait), ENOTCONN, ENOMEM. */
struct h2_stream *h2_stream_open_later(struct h2_conn *conn, const char *method, const char *path,
				       const struct h2_stream_ops *ops, void *ctx);
void h2_stream_send_later(struct h2_conn *conn);
/** Server: sets the owner of the stream. */
void h2_stream_accept(struct h2_stream *s, const struct h2_stream_ops *ops, void *ctx);
/** Server: it is one of jobs or files. False: this host has too many. */
bool h2_stream_count(struct h2_stream *s);
/** Server: sends the status; the body comes from ops->produce. 0 or -errno. */
int h2_stream_respond(struct h2_stream *s, int status, const char *type);

/** For h2_conn.c: the other side opened a stream. NULL: no memory. */
struct h2_stream *h2_stream_add(struct h2_conn *conn);
/** For h2_conn.c: the stream ended; tells its owner and frees it. */
void h2_stream_end(struct h2_stream *s, bool clean);

#endif
