/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file check.h  Whether a plan is valid, computed from the problem alone. */
#ifndef PLAN_DAG_CHECK_H
#define PLAN_DAG_CHECK_H

#include "schedule.h"

/**
 * Checks run times (paper 3, section 2.3), the makespan, and that no two tasks overlap on a
 * processor. A message must go over existing links, after its task and before the one that needs
 * it, and take d/R + I on each link; with contention no two messages overlap on a link. Times may
 * be off by 1e-9 of the makespan. Returns 0, -ENOMEM, or -EINVAL with what is wrong in `refusal`.
 */
int dag_check(const struct dag_problem *problem, const struct dag_schedule *schedule,
	      const struct dag_messages *messages, struct plan_refusal *refusal);

#endif
