/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file gather.h
 * All nodes and groups, for `status` and `tree`.
 */
#ifndef AGENT_CLUSTER_GATHER_H
#define AGENT_CLUSTER_GATHER_H

#include <jansson.h>

struct agent;
struct peer;
struct server_answer;

/** All nodes and groups below this node's rank: {"epoch", "nodes", "groups"}; `done` once, maybe at once. */
typedef void (*gather_fn)(void *ctx, json_t *found_stolen);
void gather_below(struct agent *agent, gather_fn done, void *ctx);
/** Those of the whole cluster, as far as they can be had. */
void gather_all(struct agent *agent, gather_fn done, void *ctx);
/** GET /v1/nodes */
void gather_on_nodes(struct agent *agent, struct peer *from, const json_t *body,
		     struct server_answer *answer);

#endif
