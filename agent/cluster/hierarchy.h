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

struct agent;

struct server_answer;

/** What it needs of the questions of this node (ask.h). */
struct hierarchy_ops {
	/** The answer to one has come. */
	void (*answered)(struct agent *agent, const struct eh_message *answer);
	/** Time has passed. */
	void (*tick)(struct agent *agent);
	/** Ids of tasks that were to run here, at home, and are in the load by now. Returns how many. */
	size_t (*seen)(struct agent *agent, uint64_t *ids, size_t max);
};

int hierarchy_init(struct agent *agent, const struct hierarchy_ops *ops); /**< 0 or -ENOMEM */
/** Tells those above and below that this agent ends; the links' end sends it. */
void hierarchy_leave(struct agent *agent);
void hierarchy_exit(struct agent *agent);
/** A peer came up or went down. */
void hierarchy_peer_changed(struct peer *peer);
/** A node came into the cluster or left it (peer->known). */
void hierarchy_peer_known(struct peer *peer);

/** The controller of our own group (level 1) as we see it; ourselves when we know of no other. */
struct peer *hierarchy_controller(struct agent *agent);
/** The top controller as we see it. */
struct peer *hierarchy_top(struct agent *agent);
/** The same, NULL while it is not known: a node that has not found the controllers above it is not the top. */
struct peer *hierarchy_known_top(struct agent *agent);
/** Levels this node leads. */
unsigned int hierarchy_rank(struct agent *agent);
const struct eh_member *hierarchy_member(struct agent *agent);
/** Epoch of the threshold in force here. */
uint64_t hierarchy_epoch(struct agent *agent);
/** The threshold or its length has changed: tells those who watch, and the controller. */
void hierarchy_threshold_set(struct agent *agent);
/** This node as in `status --json`. */
json_t *hierarchy_own_node(struct agent *agent);

struct hierarchy_counts {
	uint64_t sent[EH_MSG_TYPES], received[EH_MSG_TYPES]; /**< answers with a body count */
};
const struct hierarchy_counts *hierarchy_counts(struct agent *agent);

/** The node's load and settings as of now are the member's. */
void hierarchy_touch_now(struct agent *agent);
/** Load or number of guests changed: report if it matters. */
void hierarchy_touch(struct agent *agent);
/** A guest with this id (report_id()) is in the load of this node by now. */
void hierarchy_guest_seen(struct agent *agent, uint64_t id);
/** One event for the member, and what comes of it. */
void hierarchy_step(struct agent *agent, const struct eh_member_event *event);

/** Handlers. */
void hierarchy_on_message(struct agent *agent, struct peer *from, const json_t *body,
			  struct server_answer *answer);
json_t *hierarchy_on_drain(struct agent *agent, struct peer *from, const json_t *body, int *status);

#endif
