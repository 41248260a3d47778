/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file list.h  List scheduling with insertion, where messages do not wait for each other. */
#ifndef PLAN_DAG_LIST_H
#define PLAN_DAG_LIST_H

#include "schedule.h"

/**
 * Takes the tasks in this order and gives each to the processor where it ends first, in an idle
 * time between tasks or behind all; with `ahead` (tasks x processors, or NULL) to that of the
 * least end + ahead. Idle times are found among the latest of each processor; all processors are
 * tried up to 2^26 pairs of task and processor, then those of the predecessors and the first to
 * be free of each sixteenth. 0, -ENOMEM, or -ECANCELED when the watch ended it.
 */
int dag_list(const struct dag_problem *problem, const uint32_t *order, const double *ahead,
	     struct plan_watch *watch, struct dag_schedule *out);

/** What still comes behind a task that runs on a processor: the optimistic cost table of PEFT
 *  (Arabnejad and Barbosa 2014), tasks x processors. */
void dag_list_ahead(const struct dag_problem *problem, double *ahead);

#endif
