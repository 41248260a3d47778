/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file world.h
 * All nodes of an EH(n,l) as members (eh/member.h) and a network between them, in
 * one memory and in simulated time. The simulator and the tests use it to see the
 * agents' protocol under delays, losses, failures and partitions. It does what it
 * did before if its seed is the same. Loads and sizes are thousandths of a task.
 * Time is in any unit; the members' times (heartbeat_ms and so on) are in the same.
 */
#ifndef EH_WORLD_H
#define EH_WORLD_H

#include "eh/member.h"

struct eh_world;

struct eh_world_options {
	struct eh_member_options member; /**< of all nodes; `self` is not used */
	uint64_t
		delay; /**< mean delay of a message, which is evenly spread from 0.5 to 1.5 of it */
	double loss; /**< probability, from 0 to 1, that a message is lost without notice */
	uint64_t refuse; /**< after this long a sender learns that a dead node's link broke */
	uint64_t ask_limit; /**< after this long without an answer a task runs at home */
	struct eh_report own; /**< of every node when it starts; capacity not 0 */
};

enum eh_world_event_type {
	EH_WORLD_SENT, /**< node sends message to `to` */
	EH_WORLD_ROLE, /**< node now has this rank, and `to` as its parent */
	/** Task `id` of node runs on `to` now, after `probes` controllers were looked at for it;
	 *  `message` is the answer if that made it run at home, else NULL. */
	EH_WORLD_PLACED,
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

/** No node is started yet. `watch` may be NULL. NULL: no memory, n*l above 20, or a capacity of 0. */
struct eh_world *eh_world_new(const struct eh_world_options *options, eh_world_watch_fn watch,
			      void *ctx);
void eh_world_free(struct eh_world *world);

/* These return 0; -EINVAL: no such node, or it is not in the right state; or -ENOMEM, after which a
 * message or a task may be lost, as in a network. */

/** Starts a dead node, which knows of all others by name. */
int eh_world_start(struct eh_world *world, uint32_t node);
/** A node dies; its tasks and guests are lost. */
int eh_world_kill(struct eh_world *world, uint32_t node);
/** A partition: links between nodes of different sides (an array of 2^nl numbers, which is copied)
 *  carry nothing. NULL: all links work again. */
int eh_world_cut(struct eh_world *world, const uint8_t *side);
/** From now on. */
void eh_world_set_loss(struct eh_world *world, double loss);
/** A task of this size arrives at a living node. Its id must not be that of a task that lives. */
int eh_world_arrive(struct eh_world *world, uint32_t node, uint64_t id, uint64_t size);
/** A task ends, now or as soon as it runs. */
int eh_world_finish(struct eh_world *world, uint64_t id);
/** Lets time pass until then. */
int eh_world_run(struct eh_world *world, uint64_t until);
uint64_t eh_world_now(const struct eh_world *world);

/** Whether the node has started, and was not killed since. */
bool eh_world_alive(const struct eh_world *world, uint32_t node);
/** NULL: dead. */
const struct eh_member *eh_world_member(const struct eh_world *world, uint32_t node);
/** A node's own values as they are, whoever knows them. */
const struct eh_report *eh_world_node(const struct eh_world *world, uint32_t node);

struct eh_world_counts {
	uint64_t messages[EH_MSG_TYPES]; /**< sent, by type */
	uint64_t arrivals, asked; /**< tasks; of them, at senders */
	uint64_t home, away; /**< placements */
	uint64_t lost; /**< tasks */
	uint64_t late; /**< of `home`: no answer came in time */
	uint64_t reserved; /**< placements tried elsewhere: two messages each, not counted above */
	uint64_t probes; /**< controllers looked at for asks */
	uint64_t threshold_changes; /**< by the top */
};
void eh_world_counts(const struct eh_world *world, struct eh_world_counts *out);

#endif
