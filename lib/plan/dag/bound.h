/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file bound.h  How short a plan can be at best. */
#ifndef PLAN_DAG_BOUND_H
#define PLAN_DAG_BOUND_H

#include "problem.h"

struct dag_bound {
	double *head; /**< no plan starts the task earlier */
	double *tail; /**< no plan ends earlier than this after the task did */
	double *load; /**< the task's part of the length of any plan: least of share x run time */
	double path; /**< the longest head + run time + tail */
	double length; /**< the best bound: path, or what load within heads and tails asks for */
};

/** 0 or -ENOMEM; end it in either case. */
int dag_bound_make(const struct dag_problem *problem, struct dag_bound *bound);
void dag_bound_end(struct dag_bound *bound);

#endif
