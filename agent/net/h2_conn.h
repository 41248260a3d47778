/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file h2_conn.h
 * The connections under h2_stream.h: link.c makes those out, server.c those in. A
 * connection is freed from the event loop only, never inside a call of its
 * owner or of a stream's, so that both may close it at any time.
 */
#ifndef AGENT_NET_H2_CONN_H
#define AGENT_NET_H2_CONN_H

#include <event2/bufferevent.h>
#include "cluster/address.h"
#include "net/h2_stream.h"

struct agent;
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
struct h2_conn *h2_conn_connect(struct agent *agent, const struct address *to,
				unsigned int silence_ms, const struct h2_conn_ops *ops, void *ctx);
/** NULL: no memory; the socket is closed then, too. */
struct h2_conn *h2_conn_accepted(struct agent *agent, evutil_socket_t fd, unsigned int silence_ms,
				 const struct h2_conn_ops *ops, void *ctx);
/** Closes from the event loop; ops->closed follows, with `end` and `why`. */
void h2_conn_close(struct h2_conn *conn, enum h2_end end, const char *why);
void h2_conn_ping(struct h2_conn *conn);
/** Closes at once with a good-bye, without ops->closed; only from the event loop's top. */
void h2_conn_free(struct h2_conn *conn);
#endif
