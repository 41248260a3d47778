/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file tunnel.h
 * Bytes between a socket and a stream. Bytes that the socket does not take yet stay unconsumed,
 * so that the window of the stream bounds them.
 */
#ifndef AGENT_NET_TUNNEL_H
#define AGENT_NET_TUNNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "net/h2_stream.h"

struct event_base;
struct evbuffer;

struct tunnel {
	int fd;
	struct h2_stream *stream;
	struct event *readable, *writable;
	struct evbuffer *held; /**< waits for fd; at most H2_WINDOW bytes */
	const uint8_t *first; /**< is sent before what comes from fd */
	size_t nfirst;
	/** One end was closed, and now both are. The last call. `ended`: in order, by the other node, or
	 *  the process at fd has closed it; else the stream broke. */
	void (*closed)(void *ctx, bool ended);
	void *ctx;
	bool came; /**< the other node has sent something */
	bool over; /**< fd was closed by its other end */
};

extern const struct h2_stream_ops tunnel_ops; /**< its ctx is a tunnel */
/** Takes over fd, even if it fails, but not the stream. 0 or -ENOMEM. */
int tunnel_open(struct tunnel *p, struct event_base *base, int fd,
		void (*closed)(void *ctx, bool ended), void *ctx);
/** Closes both ends, as if the connection had broken; `closed` is not called. */
void tunnel_close(struct tunnel *p);
/** The same, and tells the other node that this is the end. */
void tunnel_finish(struct tunnel *p);

#endif
