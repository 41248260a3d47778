/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file server.h
 * The listening side: which hosts may connect, and which handler serves a path.
 */
#ifndef AGENT_NET_SERVER_H
#define AGENT_NET_SERVER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "net/h2_stream.h"

struct agent;
struct peer;

/** A request that is answered later, by exactly one server_answer(). */
struct server_answer;
void server_answer(struct server_answer *to, int status, json_t *body_stolen);
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

/** Listens on this node's address; `routes` ends with a NULL method. 0 or -errno (logged). */
int server_init(struct agent *agent, const struct server_route *routes);
/** The roster changed: hosts that are no longer in it may only join again. */
void server_reload(struct agent *agent);
void server_exit(struct agent *agent);

#endif
