/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file request_body.h
 * Requests with JSON bodies that are under way: how many a host may have, how many bytes of unfinished
 * bodies are held for it, and for how long. All connections of a host count together (quota.h).
 */
#ifndef AGENT_NET_REQUEST_BODY_H
#define AGENT_NET_REQUEST_BODY_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#define REQUEST_BODY_REQUESTS 512 /**< as many as a connection has streams */
#define REQUEST_BODY_BYTES (4u << 20)
#define REQUEST_BODY_MS 10000 /**< until a body is there */

struct quota_host;

/** Part of a request. Zeroed: it is none. */
struct request_body {
	TAILQ_ENTRY(request_body) entry; /* tqe_prev NULL: it is not being read */
	struct request_bodies *all;
	struct quota_host *host; /* NULL: it is over */
	size_t bytes;
	uint64_t until; /* ms, monotonic */
	void (*late)(void *ctx); /**< it took too long: it has been removed */
	void *ctx;
};

struct request_bodies {
	TAILQ_HEAD(, request_body) bodies; /* being read, the oldest first */
	struct event *timer;
};

int request_bodies_init(struct request_bodies *all, struct event_base *base); /**< 0 or -ENOMEM */
void request_bodies_exit(struct request_bodies *all);

/** A request begins; late and ctx are set. NULL, or why it is refused (logged, with a count). */
const char *request_body_begin(struct request_bodies *all, struct quota_host *host,
			       struct request_body *body);
/** More of it has come. NULL, or why it is refused. */
const char *request_body_add(struct request_body *body, size_t bytes);
/** It has come, and is no longer held. */
void request_body_read(struct request_body *body);
/** It is answered, or over. Does nothing if it has not begun. */
void request_body_end(struct request_body *body);

#endif
