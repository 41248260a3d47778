/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file h2_inside.h
 * What h2_conn.c (the socket), h2_session.c and h2_stream.c (its streams) share.
 */
#ifndef AGENT_NET_H2_INSIDE_H
#define AGENT_NET_H2_INSIDE_H

#include <stdio.h>
#include <sys/queue.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <nghttp2/nghttp2.h>
#include "net/h2_ops.h"
#include "net/recheck.h"
#include "net/tls.h"

struct h2_stream_ops;
struct quota_host;

TAILQ_HEAD(h2_streams, h2_stream);

struct h2_stream {
	TAILQ_ENTRY(h2_stream) entry;
	struct h2_streams *in;
	struct h2_conn *conn;
	const struct h2_stream_ops *ops; /* NULL: it has no owner */
	void *ctx;
	int32_t id; /* 0: not sent yet */
	int status;
	bool responded, ended; /* server: we responded; the other side ended its direction */
	size_t unconsumed, header_bytes;
	size_t kept; /* bytes that its owner keeps, of what was consumed or for what is to be sent */
	bool counted; /* among the streams of quota.h */
	bool refused; /* it has sent more than it may: the rest is dropped */
	char method[8], path[64];
};

struct h2_conn {
	struct bufferevent *bev;
	nghttp2_session *session;
	struct evbuffer *framed; /* not yet written; empty between runs of `later` */
	struct event *later; /* sends or ends; many h2_later() are one run */
	struct h2_streams streams;
	struct h2_streams waiting; /* for h2_stream_send_later(), in order of arrival */
	const struct h2_conn_ops *ops;
	void *ctx;
	struct tls_verdict verdict;
	struct recheck_one recheck;
	struct quota_host *quota; /* NULL: not identified, or a connection of ours */
	struct timeval quiet_time;
	unsigned int quiet; /* how often in a row that time brought nothing */
	bool server, dead;
	bool answered; /* a visitor: nothing follows */
	enum h2_end end;
	char cn[256], why[160];
};

/** Sends what is pending, or ends the connection, from the event loop. */
static inline void h2_later(struct h2_conn *conn)
{
	event_active(conn->later, 0, 0);
}

/** h2_conn_close() */
static inline void h2_end(struct h2_conn *conn, enum h2_end end, const char *why)
{
	if (conn->dead)
		return;
	conn->dead = true;
	conn->end = end;
	snprintf(conn->why, sizeof(conn->why), "%s", why);
	bufferevent_disable(conn->bev, EV_READ | EV_WRITE);
	h2_later(conn);
}

#endif
