/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file conn.h
 * The connections under h2.h: peer.c makes those out, server.c those in. A
 * connection is freed from the event loop only, never inside a call of its
 * owner or of a stream's, so that both may close it at any time.
 */
#ifndef AGENT_CONN_H
#define AGENT_CONN_H

#include <event2/bufferevent.h>
#include "config.h"
#include "h2.h"

struct h2_conn;

struct h2_conn_ops {
	/** The handshake is done; `cn` is the other side's. NULL: welcome, else why not. */
	const char *(*identified)(void *ctx, const char *cn);
	/** The session can be used. May be NULL. */
	void (*ready)(void *ctx);
	/** Server: a request has come; answer with h2_accept() and h2_respond(). */
	void (*request)(void *ctx, struct h2_stream *s, const char *method, const char *path);
	/** It is over; the last call. `cn` may be "". */
	void (*closed)(void *ctx, const char *why, const char *cn);
};

/** Both NULL on lack of memory; the server's socket is closed then, too. */
struct h2_conn *h2_conn_connect(const struct config_peer *to, unsigned int silence_ms,
				const struct h2_conn_ops *ops, void *ctx);
struct h2_conn *h2_conn_accepted(evutil_socket_t fd, unsigned int silence_ms,
				 const struct h2_conn_ops *ops, void *ctx);
/** Closes from the event loop; ops->closed follows, with `why`. */
void h2_conn_close(struct h2_conn *conn, const char *why);
void h2_conn_ping(struct h2_conn *conn);
/** Closes at once, without ops->closed; only from the event loop's top. */
void h2_conn_free(struct h2_conn *conn);

struct h2_stream *h2_conn_open(struct h2_conn *conn, const char *host, const char *method,
			       const char *path, const struct h2_stream_ops *ops, void *ctx);
/** Server: who is told of the stream's events from now. */
void h2_accept(struct h2_stream *s, const struct h2_stream_ops *ops, void *ctx);
/** Server: sends the status; the body comes from ops->produce. 0 or -errno. */
int h2_respond(struct h2_stream *s, int status, const char *type);

#endif
