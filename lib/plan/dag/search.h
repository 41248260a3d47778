/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file search.h  Local search: a list and an assignment that change by one task at a time. */
#ifndef PLAN_DAG_SEARCH_H
#define PLAN_DAG_SEARCH_H

#include "bound.h"
#include "schedule.h"

struct dag_search {
	uint64_t steps, seed;
	double hot, cold; /**< temperatures of the annealing, in mean run times */
	bool adaptive; /**< with contention: messages look for ways with less waiting */
};

/**
 * Simulated annealing from the plan in `best`, which becomes the best that was found. A change is a
 * task's place in the list, or its processor, or both; most are made on a critical path. Ends
 * when the bound is reached. 0 or -ENOMEM.
 */
int dag_search(const struct dag_problem *problem, const struct dag_bound *bound,
	       const struct dag_search *how, struct plan_watch *watch, struct dag_schedule *best);

#endif
