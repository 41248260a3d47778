/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file world.h
 * Many members (member.h) and a network between them, in one memory and in
 * simulated time: what the simulator and the tests use to see the agents'
 * protocol under delays, losses, failures and partitions. Deterministic for a
 * seed. Time is in any unit; the members' times (heartbeat_ms …) are in the same.
 */
#ifndef EH_WORLD_H
#define EH_WORLD_H

#include "eh/member.h"

struct eh_world;

struct eh_world_options {
	struct eh_member_options member; /**< self is not looked at */
	uint64_t delay; /**< mean of a message's; it is between half and one and a half of it */
	double loss; /**< probability that a message does not arrive and nobody notices */
	uint64_t refuse; /**< after this long a sender learns that a dead node's link broke */
	uint64_t ask_limit; /**< after this long without an answer the task runs at home */
	struct eh_report own; /**< of every node when it starts; capacity not 0 */
};

enum eh_world_event_type {
	EH_WORLD_SENT, /**< node sends message to `to` */
	EH_WORLD_ROLE, /**< node has rank and parent (to) */
	EH_WORLD_PLACED, /**< task `id` of node runs on `to` now; probes: controllers looked at for
				 *   it; message: the answer, where that is what made it run at home */
	EH_WORLD_LOST, /**< task `id` of node was lost with its executor `to` */
};

struct eh_world_event {
	enum eh_world_event_type type;
	uint64_t now;
	uint32_t node, to;
	const struct eh_message *message;
	unsigned int rank, probes;
	uint64_t id;
};
typedef void (*eh_world_watch_fn)(void *ctx, const struct eh_world_event *event);

/** `watch` may be NULL. NULL: no memory or bad options. All nodes of the topology are known to all. */
struct eh_world *eh_world_new(const struct eh_world_options *options, eh_world_watch_fn watch,
			      void *ctx);
void eh_world_free(struct eh_world *world);

/** All return 0, -EINVAL or -ENOMEM. */
int eh_world_start(struct eh_world *world, uint32_t node);
int eh_world_kill(struct eh_world *world, uint32_t node); /**< its tasks and guests are lost */
int eh_world_own(struct eh_world *world, uint32_t node, const struct eh_report *own);
/** Links between nodes of different sides (an array of 2^nl numbers) carry nothing; NULL heals. */
int eh_world_cut(struct eh_world *world, const uint8_t *side);
void eh_world_set_loss(struct eh_world *world, double loss);
/** A task of this size arrives. */
int eh_world_arrive(struct eh_world *world, uint32_t node, uint64_t id, uint64_t size);
int eh_world_finish(struct eh_world *world, uint64_t id);
/** Goes on until this time. */
int eh_world_run(struct eh_world *world, uint64_t until);
uint64_t eh_world_now(const struct eh_world *world);

bool eh_world_alive(const struct eh_world *world, uint32_t node);
const struct eh_member *eh_world_member(const struct eh_world *world, uint32_t node);
/** A node's own values as they really are. */
const struct eh_report *eh_world_node(const struct eh_world *world, uint32_t node);

struct eh_world_counts {
	uint64_t messages[EH_MSG_TYPES]; /**< sent, by type */
	uint64_t arrivals, asked, home, away, lost;
	uint64_t late; /**< of `home`: no answer came in time */
	uint64_t reserved; /**< placements tried elsewhere: two messages each, not counted above */
	uint64_t probes, threshold_changes;
};
void eh_world_counts(const struct eh_world *world, struct eh_world_counts *out);

#endif
