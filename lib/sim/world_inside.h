/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file world_inside.h  Inside of struct eh_world, for world*.c only. */
#ifndef EH_WORLD_INSIDE_H
#define EH_WORLD_INSIDE_H

#include "world.h"
#include "world_queue.h"

struct world_task;

struct world_node {
	struct eh_member *member; /**< NULL: dead */
	struct eh_report own; /**< its values as they are */
	uint32_t life; /**< how often it was started */
	uint64_t seen[EH_SEEN_MAX]; /**< placements that the next report settles */
	size_t nseen;
	bool touched; /**< `own` has changed and the member does not know yet */
};

struct eh_world {
	struct eh_world_options options;
	eh_world_watch_fn watch;
	void *ctx;
	uint32_t size; /**< number of nodes */
	struct world_node *nodes;
	uint8_t *side; /**< by node; NULL: nothing is cut */
	struct world_queue queue;
	uint64_t now, random;
	struct world_task *tasks; /**< by id */
	struct eh_world_counts counts;
	bool no_memory; /**< something was lost for lack of memory since the driver's call began */
	uint32_t stepping; /**< the node whose step is under way */
};

/* ---- world_net.c ---- */

void world_tell(struct eh_world *w, struct eh_world_event event);
/** Something happens after the time `after`, unless its node dies before; at, order and life are set here. */
void world_plan(struct eh_world *w, uint64_t after, struct world_happening h);
/** A random delay of one message. */
uint64_t world_delay(struct eh_world *w);
bool world_is_cut(const struct eh_world *w, uint32_t a, uint32_t b);

/* ---- world.c ---- */

/** Tells the member the node's own values, if they changed. */
void world_touch(struct eh_world *w, uint32_t node);

#endif
