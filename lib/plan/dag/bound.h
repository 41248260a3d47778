/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file bound.h  Lower bounds on the length of a plan, in the units of time of the problem. */
#ifndef PLAN_DAG_BOUND_H
#define PLAN_DAG_BOUND_H

#include "problem.h"

struct dag_bound {
	double *head; /**< no plan starts the task earlier */
	double *tail; /**< no plan ends earlier than this after the end of the task */
	double *load; /**< the task's load: least of share x run time over the processors */
	double path; /**< the longest head + run time + tail */
	double length; /**< the best bound: path, or load between heads and tails */
};

/** 0 or -ENOMEM; end it in either case. */
int dag_bound_make(const struct dag_problem *problem, struct dag_bound *bound);
void dag_bound_end(struct dag_bound *bound);

#endif
