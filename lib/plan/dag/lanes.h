/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file lanes.h
 * Contention (paper 3, section 2.3): the intervals in which each direction of each link is busy.
 * The paper's contention delay CD is the time that a message waits for a gap in them. Routes with
 * waiting are earliest arrivals over positive costs, so they have no loops.
 */
#ifndef PLAN_DAG_LANES_H
#define PLAN_DAG_LANES_H

#include "schedule.h"

struct dag_lanes;

/** 0 or -ENOMEM. The problem must outlive it. */
int dag_lanes_make(const struct dag_problem *problem, struct dag_lanes **out);
void dag_lanes_free(struct dag_lanes *lanes);

/**
 * Runs the tasks in this order on these processors, each as soon as its messages have arrived.
 * Messages take the routes that are shortest without waiting or, with `adaptive`, those on which
 * they arrive first. Fills `finish` and, unless NULL, `messages`. Returns the makespan; DBL_MAX
 * once a task's finish + tail is beyond `limit` (`tail` may be NULL); -1: no memory.
 */
double dag_lanes_decode(struct dag_lanes *lanes, const uint32_t *order, const uint32_t *processor,
			bool adaptive, const double *tail, double limit, double *finish,
			struct dag_messages *messages);

/** Like dag_list(), with the waiting of messages, and only behind all tasks of a processor. The
 *  result is that of an adaptive decoding of the same list on these processors. */
int dag_lanes_list(struct dag_lanes *lanes, const uint32_t *order, struct plan_watch *watch,
		   struct dag_schedule *out);

#endif
