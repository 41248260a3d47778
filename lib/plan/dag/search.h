/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file search.h  Local search in small changes of a list and of the processors. */
#ifndef PLAN_DAG_SEARCH_H
#define PLAN_DAG_SEARCH_H

#include "bound.h"
#include "schedule.h"

struct dag_search {
	uint64_t steps, seed;
	double hot; /**< temperature at the start, in mean run times + mean times of a message */
	double cold; /**< at the end, in mean run times */
	bool adaptive; /**< with contention: messages look for routes with less waiting */
};

/**
 * Simulated annealing from the plan in `best`, which becomes the best plan that was found. A change
 * moves a task in the list, or to another processor (alone or with its relatives there), or both;
 * most changes are made on a critical path. Ends when the bound is reached. 0 or -ENOMEM.
 */
int dag_search(const struct dag_problem *problem, const struct dag_bound *bound,
	       const struct dag_search *how, struct plan_watch *watch, struct dag_schedule *best);

#endif
