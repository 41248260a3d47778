/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file control.h
 * This node in the hierarchy: drives lib/eh/member.h with the peers' messages
 * (POST /v1/control), the node's load and time. What placements and guests need
 * of it is in agent.h.
 */
#ifndef AGENT_CLUSTER_HIERARCHY_H
#define AGENT_CLUSTER_HIERARCHY_H

#include <jansson.h>
#include "eh/member.h"
#include "net/peer.h"

struct server_answer;

int hierarchy_init(void); /**< 0 or -ENOMEM */
/** Tells those above and below that this agent ends; the links' end sends it. */
void hierarchy_leave(void);
void hierarchy_exit(void);
/** A peer came up or went down. */
void hierarchy_peer_changed(struct peer *peer);
/** A node came into the cluster or left it (peer->known). */
void hierarchy_peer_known(struct peer *peer);

/** The controller of our own group (level 1) as we see it; ourselves when we know of no other. */
struct peer *hierarchy_controller(void);
/** The top controller as we see it. */
struct peer *hierarchy_top(void);
/** Levels this node leads. */
unsigned int hierarchy_rank(void);
const struct eh_member *hierarchy_member(void);
/** Epoch of the threshold in force here. */
uint64_t hierarchy_epoch(void);
/** The threshold or its length was changed by a user: tells those who watch and the controller. */
void hierarchy_threshold_set(void);
/** This node as in `status --json`. */
json_t *hierarchy_own_node(void);

struct hierarchy_counts {
	uint64_t sent[EH_MSG_TYPES], received[EH_MSG_TYPES]; /**< answers with a body count */
};
const struct hierarchy_counts *hierarchy_counts(void);

/** The node's load and settings as of now are the member's. */
void hierarchy_touch_now(void);
/** One event for the member, and what comes of it. */
void hierarchy_step(const struct eh_member_event *event);

/** Handlers. */
void hierarchy_on_message(struct peer *from, const json_t *body, struct server_answer *answer);
json_t *hierarchy_on_drain(struct peer *from, const json_t *body, int *status);

/* ---- ask.c ---- */

/** The answer to an ask of this node has come. */
void ask_answered(const struct eh_message *answer);
/** Those that nobody will answer any more. */
void ask_tick(void);
/** Ids of tasks that were to run here, at home, and are in the load by now. Returns how many. */
size_t ask_take_seen(uint64_t *ids, size_t max);

/* ---- gather.c ---- */

/** All nodes and groups below this node's rank: {"epoch", "nodes", "groups"}; `done` once, maybe at once. */
typedef void (*gather_fn)(void *ctx, json_t *found_stolen);
void gather_below(gather_fn done, void *ctx);
/** Those of the whole cluster, as far as they can be had. */
void gather_all(gather_fn done, void *ctx);
/** GET /v1/nodes */
void gather_on_nodes(struct peer *from, const json_t *body, struct server_answer *answer);

#endif
