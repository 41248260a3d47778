/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file hierarchy.h
 * This node in the hierarchy: drives lib/eh/member.h with the peers' messages (POST
 * /v1/control), this node's load, and time.
 */
#ifndef AGENT_CLUSTER_HIERARCHY_H
#define AGENT_CLUSTER_HIERARCHY_H

#include <jansson.h>
#include "cluster/hierarchy_counts.h"
#include "eh/member.h"
#include "net/peer.h"

struct agent;

struct server_answer;

/** Calls about this node's own asks (ask.h). */
struct hierarchy_ops {
	/** One of them is answered. `answer` is borrowed. */
	void (*answered)(struct agent *agent, const struct eh_message *answer);
	/** Called at each tick, an eighth of a heartbeat apart. */
	void (*tick)(struct agent *agent);
	/** Ids of tasks that stayed here after an ask and are in the load now. Returns how many. */
	size_t (*seen)(struct agent *agent, uint64_t *ids, size_t max);
};

int hierarchy_init(struct agent *agent, const struct hierarchy_ops *ops); /**< 0 or -ENOMEM */
/** Tells the nodes above and below that this agent ends. The links send it when they close. */
void hierarchy_leave(struct agent *agent);
void hierarchy_exit(struct agent *agent);
/** A peer came up or went down. */
void hierarchy_peer_changed(struct peer *peer);
/** A node joined or left the cluster (peer->known). */
void hierarchy_peer_known(struct peer *peer);

/** The controller of our group (level 1) as far as we know, else this node. */
struct peer *hierarchy_controller(struct agent *agent);
/** The top controller as far as we know, else this node. */
struct peer *hierarchy_top(struct agent *agent);
/** The same, but NULL for a node that has not found the controllers above it. */
struct peer *hierarchy_known_top(struct agent *agent);
/** Number of levels that this node leads. */
unsigned int hierarchy_rank(struct agent *agent);
const struct eh_member *hierarchy_member(struct agent *agent);
/** Epoch of the threshold in force. */
uint64_t hierarchy_epoch(struct agent *agent);
/** The threshold or its length has changed: tells `ehctl watch` and the controller. */
void hierarchy_threshold_set(struct agent *agent);
/** This node as in `status --json`. The caller owns it. */
json_t *hierarchy_own_node(struct agent *agent);

const struct hierarchy_counts *hierarchy_counts(struct agent *agent);

/** Passes the node's current load and settings to the member. */
void hierarchy_touch_now(struct agent *agent);
/** Load, state or counts have changed: once per round of the loop, reports if it matters. */
void hierarchy_touch(struct agent *agent);
/** The guest with this id (report_id()) is in this node's load by now. */
void hierarchy_guest_seen(struct agent *agent, uint64_t id);
/** Passes an event to the member and does what it asks for. */
void hierarchy_step(struct agent *agent, const struct eh_member_event *event);

/** Handlers of the peers' requests. */
void hierarchy_on_message(struct agent *agent, struct peer *from, const json_t *body,
			  struct server_answer *answer);

#endif
