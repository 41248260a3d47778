/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file solve.h  Makes the best plan that a method finds. */
#ifndef PLAN_DAG_SOLVE_H
#define PLAN_DAG_SOLVE_H

#include "schedule.h"

enum dag_method {
	DAG_BEST, /**< lists, then local search and branch and bound as the size allows */
	DAG_LISTS, /**< the best of several lists */
	DAG_HEFT, /**< one list: b-levels, earliest finish, insertion (Topcuoglu et al. 2002) */
	DAG_EXACT, /**< DAG_BEST, then branch and bound to the end */
};

struct dag_options {
	enum dag_method method;
	uint64_t seed;
	uint64_t steps; /**< of local search; 0: by size */
};

struct dag_plan {
	struct dag_schedule schedule;
	struct dag_messages messages;
	double lower_bound;
	bool optimal; /**< proven */
};

/** Makes a plan, never longer than all tasks on the fastest processor. 0 or -ENOMEM; end it in
 *  either case. */
int dag_solve(const struct dag_problem *problem, const struct dag_options *options,
	      struct plan_watch *watch, struct dag_plan *plan);
void dag_plan_end(struct dag_plan *plan);

#endif
