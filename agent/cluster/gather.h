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

typedef void (*gather_fn)(void *ctx, json_t *found_stolen);
/**
 * Finds all nodes and groups of the cluster, as far as it can be reached: {"epoch", "nodes",
 * "groups"}. `done` is called once, perhaps at once, and owns the result; NULL: out of memory.
 */
void gather_all(struct agent *agent, gather_fn done, void *ctx);
/** Handler of GET /v1/nodes: those below this node's rank. */
void gather_on_nodes(struct agent *agent, struct peer *from, const json_t *body,
		     struct server_answer *answer);

#endif
