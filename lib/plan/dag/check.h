/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file check.h  Whether a plan can be: everything is computed anew from the problem. */
#ifndef PLAN_DAG_CHECK_H
#define PLAN_DAG_CHECK_H

#include "schedule.h"

/**
 * Run times, no two tasks at once on a processor, each message on links that are there, behind
 * its task and before the one that needs it, as long on each link as d/R + I, and with contention
 * one at a time on each; the makespan. Times may be off by 1e-9 of the makespan. 0; -ENOMEM; or
 * -EINVAL with what is wrong in `refusal`.
 */
int dag_check(const struct dag_problem *problem, const struct dag_schedule *schedule,
	      const struct dag_messages *messages, struct plan_refusal *refusal);

#endif
