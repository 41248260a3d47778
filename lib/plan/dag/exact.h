/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file exact.h  Branch and bound for small graphs whose messages do not wait for each other. */
#ifndef PLAN_DAG_EXACT_H
#define PLAN_DAG_EXACT_H

#include "bound.h"
#include "schedule.h"

/** Whether the search tree's memory is reasonable for this many tasks and processors. */
bool dag_exact_fits(const struct dag_problem *problem);

/**
 * Improves the plan in `best`, looking at `nodes` partial plans at most; `*complete` when it has
 * seen or excluded all, so that `best` is optimal. 0 or -ENOMEM.
 */
int dag_exact(const struct dag_problem *problem, const struct dag_bound *bound, uint64_t nodes,
	      struct plan_watch *watch, struct dag_schedule *best, bool *complete);

#endif
