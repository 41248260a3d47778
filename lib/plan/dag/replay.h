/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file replay.h  What a plan becomes when nothing but its order is kept. */
#ifndef PLAN_DAG_REPLAY_H
#define PLAN_DAG_REPLAY_H

#include "schedule.h"

/**
 * Runs the plan's tasks in its order on its processors, each as soon as it can, and sends its
 * messages on their ways; each link takes them first come, first served. Both become what came
 * of it. What happens in a real machine is nearer to this than to gaps that were filled by plan.
 * 0 or -ENOMEM.
 */
int dag_replay(const struct dag_problem *problem, struct dag_schedule *schedule,
	       struct dag_messages *messages);

#endif
