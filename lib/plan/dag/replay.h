/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file replay.h  A plan run again from nothing but its order. */
#ifndef PLAN_DAG_REPLAY_H
#define PLAN_DAG_REPLAY_H

#include "schedule.h"

/**
 * Runs the tasks in the plan's order on the plan's processors, each as soon as possible, and sends
 * the messages on their routes; links serve them first come, first served, and those that come at
 * the same time in the plan's order. `schedule` and `messages` become the result, whose replay is
 * the same. A real machine is nearer to this than to a plan that fills gaps. 0 or -ENOMEM.
 */
int dag_replay(const struct dag_problem *problem, struct dag_schedule *schedule,
	       struct dag_messages *messages);

#endif
