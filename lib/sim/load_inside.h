/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file load_inside.h  Inside of a run of load.h, for load*.c only. */
#ifndef EH_LOAD_INSIDE_H
#define EH_LOAD_INSIDE_H

#include "chance.h"
#include "load.h"
#include "ring.h"
#include "tree.h"

#include <math.h>

#define LOAD_NONE UINT32_MAX /**< no task, no node */
#define LOAD_TICKS 0x1p32 /**< of the tree's clock, in a service time */

struct load_task {
	double tag; /**< of the node's clock at which it ends */
	double arrived;
	double service; /**< what it computes */
	double work; /**< the same with the transfer */
	uint32_t home;
	uint32_t next; /**< in the list it is in */
	uint32_t turn; /**< times that its place in memory stopped waiting */
	bool measured;
	uint8_t asked, wants; /**< highest level that its ask came to; how many it has made */
};

/** First and last of a queue. */
struct load_list {
	uint32_t first, last;
};

/**
 * The processors of a node. Its clock shows what each of its running tasks has
 * computed, so the order in which they end never changes.
 */
struct load_node {
	double clock, since; /**< the clock at the time `since` */
	double next; /**< when a task ends; INFINITY: none runs */
	double listed; /**< of its entry in the queue of events that counts; INFINITY: none */
	struct load_list wait; /**< those that do not run yet */
	uint32_t first; /**< that run, in the order in which they end */
	uint32_t running, waiting;
	float speed;
} __attribute__((aligned(64))); /* one line of the caches */

struct load_event {
	double at;
	uint32_t node;
};

/** Ends of tasks, a heap of four children. A node's entry may be too early: it is moved when due. */
struct load_queue {
	struct load_event *memory, *heap; /**< the heap is inside of the memory */
	size_t count, room;
};

/** The load of a node has changed, which others do not know yet. */
struct load_news {
	double due;
	uint32_t node;
};

/** Tasks of a node that the tree does not know of yet. */
struct load_behind {
	int16_t tasks;
	bool listed;
};

struct load_credits;
struct load_measure;

struct eh_load {
	const struct eh_load_options *options;
	struct eh_load_result *result;
	double now;
	double capacity, computed; /**< of all processors in a service time; by tasks that ended */
	uint32_t size; /**< nodes */
	struct load_node *nodes;
	struct load_task *tasks;
	size_t ntasks, task_room;
	uint32_t spare; /**< list of unused tasks */
	struct load_queue queue;
	struct ring news; /**< of struct load_news */
	struct load_list *waits; /**< execs that wait, by home, or NULL */
	struct ring oldest; /**< load_wait.c: those of all homes */
	struct eh_tree *tree; /**< or NULL */
	struct load_behind *behind; /**< by node, or NULL: the tree knows at once */
	uint32_t *late, nlate; /**< nodes that are listed */
	struct load_credits *credits; /**< or NULL */
	uint32_t *pool, *place; /**< free nodes, and where each is among them */
	uint32_t npool;
	uint64_t random; /**< of choices */
	struct load_measure *measure;
	bool no_memory;
};

static inline uint32_t load_processors(const struct eh_load *load)
{
	return load->options->processors;
}

static inline uint32_t load_free(const struct eh_load *load, uint32_t node)
{
	const struct load_node *n = &load->nodes[node];

	return n->running < load_processors(load) ? load_processors(load) - n->running : 0;
}

static inline void load_list_add(struct eh_load *load, struct load_list *list, uint32_t task)
{
	load->tasks[task].next = LOAD_NONE;
	if (list->first == LOAD_NONE)
		list->first = task;
	else
		load->tasks[list->last].next = task;
	list->last = task;
}

static inline uint32_t load_list_take(struct eh_load *load, struct load_list *list)
{
	uint32_t task = list->first;

	if (task != LOAD_NONE)
		list->first = load->tasks[task].next;
	return task;
}

static inline void load_count(struct eh_load *load, enum eh_load_message kind, unsigned int level,
			      uint64_t credits_count)
{
	load->result->messages[kind][level] += credits_count;
}

#endif
