/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file lanes.h
 * Contention: for each direction of each link the intervals in which it is busy, and nothing else.
 * The paper's contention delay CD is what a message waits for a gap in them; routes with waiting
 * are earliest arrivals over positive costs, so they have no loops.
 */
#ifndef PLAN_DAG_LANES_H
#define PLAN_DAG_LANES_H

#include "schedule.h"

struct dag_lanes;

int dag_lanes_make(const struct dag_problem *problem, struct dag_lanes **out);
void dag_lanes_free(struct dag_lanes *lanes);

/**
 * Tasks in this order on these processors, each as soon as its messages are there, which take the
 * ways without waiting or, with `adaptive`, those on which they arrive first. Stops and returns
 * DBL_MAX once a task's finish + tail is beyond `limit` (`tail` may be NULL); else the makespan.
 * With `messages` they are recorded there. -1: no memory.
 */
double dag_lanes_decode(struct dag_lanes *lanes, const uint32_t *order, const uint32_t *processor,
			bool adaptive, const double *tail, double limit, double *finish,
			struct dag_messages *messages);

/** As dag_list(), with what messages have to wait, and behind all tasks of a processor only. What
 *  comes out is what an adaptive decoding of the same list makes of its processors. */
int dag_lanes_list(struct dag_lanes *lanes, const uint32_t *order, struct plan_watch *watch,
		   struct dag_schedule *out);

#endif
