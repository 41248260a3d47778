/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file server_answer.h
 * Requests of other hosts: the table that says which handler has a path, and JSON requests, from the
 * first byte of the body to the last one of the answer.
 */
#ifndef AGENT_NET_SERVER_ANSWER_H
#define AGENT_NET_SERVER_ANSWER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "net/h2_stream.h"

struct agent;
struct request_bodies;
struct peer;
struct quota_host;

/** A request that is answered later, by exactly one server_answer(). */
struct server_answer;
void server_answer(struct server_answer *to, int status, json_t *body_stolen);
/** The same, with a body that says what is wrong. */
void server_refuse(struct server_answer *to, int status, const char *why);
/** Calls `gone` if nobody waits for the answer any more; server_answer() still must follow. */
void server_answer_watch(struct server_answer *a, void (*gone)(void *ctx), void *ctx);
/** CN of the caller's certificate; only within the handler. */
const char *server_answer_host(const struct server_answer *a);

/** A row of the table of routes; exactly one of the handlers is set. */
struct server_route {
	const char *method, *path;
	bool open; /**< also for hosts of the authority that are not in the roster: `from` is NULL */
	/** JSON in, JSON out (new reference), *status preset to 200; NULL body is an empty reply. */
	json_t *(*json)(struct agent *agent, struct peer *from, const json_t *body, int *status);
	/** JSON in, answered later; `body` is borrowed. */
	void (*later)(struct agent *agent, struct peer *from, const json_t *body,
		      struct server_answer *answer);
	/** Takes over the stream. 0, or an HTTP status to refuse with. */
	int (*stream)(struct agent *agent, struct peer *from, struct h2_stream *s,
		      const struct h2_stream_ops **ops, void **ctx);
};

/** What a request is called with, when all of it has come. */
struct server_call {
	struct agent *agent;
	const struct server_route *route; /**< NULL: it is the first one, for `greet` */
	struct peer *peer; /**< NULL: not in the roster */
	const char *host; /**< CN of the certificate */
	/** Returns the status, and a reply. Is not called once the connection is gone. */
	int (*greet)(void *ctx, const json_t *body, json_t **reply);
	void *ctx;
};

/**
 * Reads the body and calls. `host` and `ctx` stay until the stream is closed. 0, -ENOMEM, or -EBUSY
 * (logged).
 */
int server_answer_begin(const struct server_call *call, struct h2_stream *s,
			struct request_bodies *bodies, struct quota_host *host);
/** The body of an answer that says what is wrong. NULL: no memory. */
json_t *server_answer_error(const char *what);

#endif
