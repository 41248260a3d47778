/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file schedule.h
 * A plan: where and when each task runs (paper 3, section 2.4: f(a) = (p, t)), and the routes and
 * times of the messages between processors. Times are in the units of the problem.
 */
#ifndef PLAN_DAG_SCHEDULE_H
#define PLAN_DAG_SCHEDULE_H

#include "problem.h"

struct dag_schedule {
	uint32_t tasks;
	uint32_t *processor;
	double *start, *finish; /**< of tasks */
	uint32_t *order; /**< with contention: the list that it was made from */
	double makespan;
};

/** A message's stay on one link. */
struct dag_hop {
	uint32_t node; /**< the end of the link */
	double start, finish;
};

struct dag_message {
	uint32_t from, to; /**< tasks */
	size_t hop; /**< number of the first hop */
	uint32_t hops;
};

/** One for each edge whose ends are on different processors, in the order of edges. */
struct dag_messages {
	struct dag_message *list;
	size_t count, room;
	struct dag_hop *hops;
	size_t nhops, hops_room;
};

/** An empty one with room for all tasks. 0 or -ENOMEM. */
int dag_schedule_make(const struct dag_problem *problem, struct dag_schedule *schedule);
void dag_schedule_end(struct dag_schedule *schedule);
void dag_schedule_copy(struct dag_schedule *to, const struct dag_schedule *from);
/** Computes the makespan from the ends of the tasks. */
void dag_schedule_measure(struct dag_schedule *schedule);
/** Puts all tasks one after the other on the processor where that is shortest. */
void dag_schedule_alone(const struct dag_problem *problem, struct dag_schedule *schedule);

void dag_messages_end(struct dag_messages *messages);
/** Adds a message without hops, or a hop to the last message. 0 or -ENOMEM. */
int dag_messages_add(struct dag_messages *messages, uint32_t from, uint32_t to);
int dag_messages_hop(struct dag_messages *messages, uint32_t node, double start, double finish);
/** Makes the messages of a schedule without contention: each leaves when its task ends. 0 or
 *  -ENOMEM. */
int dag_messages_make(const struct dag_problem *problem, const struct dag_schedule *schedule,
		      struct dag_messages *messages);

#endif
