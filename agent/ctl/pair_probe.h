/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file pair_probe.h
 * How this node gets on with another one: a connection of its own, the certificate, hello with versions and
 * clock, users, and the other addresses of its name. Says facts (POST /v1/pairs in docs/protocol.md).
 */
#ifndef AGENT_CTL_PAIR_PROBE_H
#define AGENT_CTL_PAIR_PROBE_H

#include <jansson.h>

struct agent;
struct directory_answer;
struct pair_probe;
struct peer;

#define PAIR_PROBE_MS 5000 /**< it is over then */

/** `facts` are of docs/protocol.md, without the node; NULL: no memory. */
typedef void (*pair_probe_fn)(void *ctx, struct peer *to, json_t *facts_stolen);

/**
 * Begins. `users`: list of [uid, name], which the caller keeps until `done`. `host`: what its name leads to;
 * NULL: not asked. `done` is called once, later. NULL: no memory.
 */
struct pair_probe *pair_probe_new(struct peer *to, const json_t *users,
				  const struct directory_answer *host, pair_probe_fn done,
				  void *ctx);
/** Ends it without `done`. Not within a callback of it or of a connection. */
void pair_probe_free(struct pair_probe *p);

#endif
