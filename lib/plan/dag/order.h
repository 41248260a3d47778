/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file order.h  Priorities of tasks, and the lists they make. */
#ifndef PLAN_DAG_ORDER_H
#define PLAN_DAG_ORDER_H

#include "bound.h"

enum dag_priority {
	DAG_B_LEVEL, /**< longest path to the end with mean run times and messages: HEFT's rank */
	DAG_STATIC_LEVEL, /**< the same without messages */
	DAG_BOTH_LEVELS, /**< longest path through the task, then the path to the end */
	DAG_TAIL, /**< the tail of dag_bound: with messages that no plan can avoid */
	DAG_LATEST, /**< the latest start on a critical path of run times and half the messages */
	DAG_PRIORITIES
};

/** A priority for each task; the larger, the sooner. */
void dag_priorities(const struct dag_problem *problem, const struct dag_bound *bound,
		    enum dag_priority priority, double *out);

/** Makes the list: of the tasks whose predecessors are on it, the one with the highest priority is
 *  next, the first of equal ones. `out` has room for all tasks. 0 or -ENOMEM. */
int dag_order(const struct dag_problem *problem, const double *priority, uint32_t *out);

#endif
