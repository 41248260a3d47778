/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file list.h  List scheduling with insertion, where messages do not wait for each other. */
#ifndef PLAN_DAG_LIST_H
#define PLAN_DAG_LIST_H

#include "schedule.h"

/**
 * Takes the tasks in this order and places each on the processor where it ends first, in an idle
 * time between tasks or after all of them (HEFT, Topcuoglu et al. 2002); with `ahead` (tasks x
 * processors, or NULL) where end + ahead is least. Only the latest idle times of each processor are
 * kept. Up to 2^26 pairs of task and processor (equal processors with routes: 2^28) all processors
 * are tried, above only those of the predecessors and the first free one of each sixteenth. 0,
 * -ENOMEM, or -ECANCELED when the watch ended it.
 */
int dag_list(const struct dag_problem *problem, const uint32_t *order, const double *ahead,
	     struct plan_watch *watch, struct dag_schedule *out);

/** The time that still follows a task that runs on a processor: the optimistic cost table of PEFT
 *  (Arabnejad and Barbosa 2014), tasks x processors. */
void dag_list_ahead(const struct dag_problem *problem, double *ahead);

#endif
