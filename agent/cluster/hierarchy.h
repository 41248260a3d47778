/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file hierarchy.h
 * This node in the hierarchy: drives lib/eh/member.h with the peers' messages
 * (POST /v1/control), the node's load and time.
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
/** Load or number of guests changed: report if it matters. */
void hierarchy_touch(void);
/** One event for the member, and what comes of it. */
void hierarchy_step(const struct eh_member_event *event);

/** Handlers. */
void hierarchy_on_message(struct peer *from, const json_t *body, struct server_answer *answer);
json_t *hierarchy_on_drain(struct peer *from, const json_t *body, int *status);

#endif
