/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file follow.h
 * Equal processors, no messages: a list of the tasks alone makes a plan, because each task goes to
 * the processor on which the idle time before it is shortest.
 */
#ifndef PLAN_DAG_FOLLOW_H
#define PLAN_DAG_FOLLOW_H

#include "problem.h"

/**
 * The processor for a task that could begin at `*start`, which becomes the time when it does.
 * `ready` has the ends of the `processors` so far.
 */
static inline uint32_t dag_follow(const double *ready, uint32_t processors, double *start)
{
	uint32_t early = 0, near = UINT32_MAX;

	for (uint32_t j = 0; j < processors; j++) {
		if (ready[j] <= *start) {
			if (near == UINT32_MAX || ready[j] > ready[near])
				near = j;
		} else if (ready[j] < ready[early]) {
			early = j;
		}
	}
	if (near != UINT32_MAX)
		return near;
	*start = ready[early];
	return early;
}

struct dag_justify;

/** 0 or -ENOMEM. The problem must outlive it. */
int dag_justify_make(const struct dag_problem *problem, uint32_t processors,
		     struct dag_justify **out);
void dag_justify_free(struct dag_justify *justify);

/**
 * Double justification (Valls, Ballestín and Quintanilla 2005): shifts all tasks of a plan to its
 * end, the last one first, and gives the list of their starts there. The plan of that list is not
 * longer than the first one. `order` and `finish` are the list and the ends of the first plan;
 * `order` becomes the new list.
 */
void dag_justify(struct dag_justify *justify, uint32_t *order, const double *finish);

#endif
