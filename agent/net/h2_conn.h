/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file conn.h
 * The connections under h2.h: link.c makes those out, server.c those in. A
 * connection is freed from the event loop only, never inside a call of its
 * owner or of a stream's, so that both may close it at any time.
 */
#ifndef AGENT_NET_H2_CONN_H
#define AGENT_NET_H2_CONN_H

#include <event2/bufferevent.h>
#include "cluster/address.h"
#include "net/h2_stream.h"

#define H2_WAITING 64 /**< streams that may wait for h2_stream_send_later() */

struct h2_conn;

/** How a connection ended. */
enum h2_end {
	H2_END_BROKEN, /**< the socket, or the protocol */
	H2_END_REFUSED, /**< nobody listens, or one side does not want the other */
	H2_END_SILENT, /**< no sign for as long as `silence_ms`, or none of the handshake */
	H2_END_GOODBYE, /**< the other side ended it in an orderly way */
};

struct h2_conn_ops {
	/** The handshake is done; `cn` is the other side's. NULL: welcome, else why not. */
	const char *(*identified)(void *ctx, const char *cn);
	/** The session can be used. May be NULL. */
	void (*ready)(void *ctx);
	/** Server: a request has come; answer with h2_stream_accept() and h2_stream_respond(). */
	void (*request)(void *ctx, struct h2_stream *s, const char *method, const char *path);
	/** It is over; the last call. Its streams are closed after it. `cn` may be "". */
	void (*closed)(void *ctx, enum h2_end end, const char *why, const char *cn);
};

/** NULL (errno): no descriptor or memory. An address that cannot be reached is told by ops->closed. */
struct h2_conn *h2_conn_connect(const struct address *to, unsigned int silence_ms,
				const struct h2_conn_ops *ops, void *ctx);
/** NULL: no memory; the socket is closed then, too. */
struct h2_conn *h2_conn_accepted(evutil_socket_t fd, unsigned int silence_ms,
				 const struct h2_conn_ops *ops, void *ctx);
/** Closes from the event loop; ops->closed follows, with `end` and `why`. */
void h2_conn_close(struct h2_conn *conn, enum h2_end end, const char *why);
void h2_conn_ping(struct h2_conn *conn);
/** Closes at once with a good-bye, without ops->closed; only from the event loop's top. */
void h2_conn_free(struct h2_conn *conn);
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

#endif
