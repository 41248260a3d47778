/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file world_queue.h  What is to happen in a world: a heap ordered by time. */
#ifndef EH_WORLD_QUEUE_H
#define EH_WORLD_QUEUE_H

#include "eh/member.h"

enum world_happening_type {
	WORLD_TICK, /**< time passes for `node` */
	WORLD_MESSAGE, /**< `parcel` arrives at `node` */
	WORLD_GONE, /**< `node` learns that its link to `from` broke */
	WORLD_LATE, /**< nobody answered `node` in time about task `id` */
	WORLD_START, /**< task `id` of `node` begins on its executor, if that lives */
};

/** A message on its way, with what it points to. */
struct world_parcel {
	struct eh_message message;
	uint64_t seen[];
};

struct world_happening {
	uint64_t at; /**< time */
	uint64_t order; /**< set by the queue: at the same time, the first added comes first */
	enum world_happening_type type;
	uint32_t node, from;
	uint32_t life; /**< of `node` when it was added; it concerns no later life */
	uint64_t id;
	struct world_parcel *parcel; /**< or NULL */
};

struct world_queue {
	struct world_happening *heap;
	size_t count, room;
	size_t spare; /**< places that only ticks may take when memory is lacking */
	uint64_t order;
};

/** `spare`: as many as there can be ticks. 0 or -ENOMEM. */
int world_queue_init(struct world_queue *q, size_t spare);
void world_queue_free(struct world_queue *q);
/** Takes the parcel over. -ENOMEM: a tick was added all the same, anything else is lost. */
int world_queue_add(struct world_queue *q, struct world_happening h);
/** Whether there is one, and it happens at this time or before. */
bool world_queue_due(const struct world_queue *q, uint64_t until);
/** Takes the first out, with its parcel. There must be one. */
struct world_happening world_queue_take(struct world_queue *q);

#endif
