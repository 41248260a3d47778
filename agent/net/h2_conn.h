/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file h2_conn.h
 * The connections under h2_stream.h: link.c makes outgoing ones, server.c accepts incoming
 * ones. A connection is only freed from the event loop, never inside a call from its owner or
 * from the owner of a stream, so that both may close it at any time.
 */
#ifndef AGENT_NET_H2_CONN_H
#define AGENT_NET_H2_CONN_H

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include "cluster/address.h"
#include "net/h2_ops.h"
#include "net/h2_stream.h"

struct agent;
struct quota_host;
struct h2_conn;

/** NULL (errno): no descriptor or memory. An unreachable address is reported by ops->closed. */
struct h2_conn *h2_conn_connect(struct agent *agent, const struct address *to,
				unsigned int silence_ms, const struct h2_conn_ops *ops, void *ctx);
/** `ops->visited` is used while net_ops.invites. NULL: no memory; the socket is then closed. */
struct h2_conn *h2_conn_accepted(struct agent *agent, evutil_socket_t fd, unsigned int silence_ms,
				 const struct h2_conn_ops *ops, void *ctx);
/** Counts all that it holds for this host (quota.h). Once. */
void h2_conn_count(struct h2_conn *conn, struct quota_host *host);
/** Sends this to a visitor, reads no more of him, and closes when he has it. */
void h2_conn_answer(struct h2_conn *conn, const char *text);
/** When the other side's certificate ends, or one above it, in seconds since 1970; once it is identified. */
int64_t h2_conn_until(const struct h2_conn *conn);
/** Closes from the event loop; ops->closed follows, with `end` and `why`. */
void h2_conn_close(struct h2_conn *conn, enum h2_end end, const char *why);
void h2_conn_ping(struct h2_conn *conn);
/** Closes at once and in order, without ops->closed. Never inside a callback of a connection or
 *  stream. */
void h2_conn_free(struct h2_conn *conn);
#endif
