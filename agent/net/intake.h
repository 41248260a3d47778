/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file intake.h
 * Requests with JSON bodies that are under way: how many a host may have, how many bytes of unfinished
 * bodies are held for it, and for how long. All connections of a host count together (quota.h).
 */
#ifndef AGENT_NET_INTAKE_H
#define AGENT_NET_INTAKE_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#define INTAKE_REQUESTS 512 /**< as many as a connection has streams */
#define INTAKE_BYTES (4u << 20)
#define INTAKE_MS 10000 /**< until a body is there */

struct quota_host;

/** Part of a request. Zeroed: it is none. */
struct intake_body {
	TAILQ_ENTRY(intake_body) entry; /* tqe_prev NULL: it is not being read */
	struct intake *intake;
	struct quota_host *host; /* NULL: it is over */
	size_t bytes;
	uint64_t until; /* ms, monotonic */
	void (*late)(void *ctx); /**< it took too long: it has been removed */
	void *ctx;
};

struct intake {
	TAILQ_HEAD(, intake_body) bodies; /* being read, the oldest first */
	struct event *timer;
};

int intake_init(struct intake *intake, struct event_base *base); /**< 0 or -ENOMEM */
void intake_exit(struct intake *intake);

/** A request begins; late and ctx are set. NULL, or why it is refused (logged, with a count). */
const char *intake_begin(struct intake *intake, struct quota_host *host, struct intake_body *body);
/** More of it has come. NULL, or why it is refused. */
const char *intake_add(struct intake_body *body, size_t bytes);
/** It has come, and is no longer held. */
void intake_read(struct intake_body *body);
/** It is answered, or over. Does nothing if it has not begun. */
void intake_end(struct intake_body *body);

#endif
