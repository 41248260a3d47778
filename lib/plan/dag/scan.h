/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file scan.h  Loops over all processors, for which the Makefile has a compiler make vectors. */
#ifndef PLAN_DAG_SCAN_H
#define PLAN_DAG_SCAN_H

#include "machine.h"

/** Raises each processor's arrival to that of `data` units that leave `from` at `time`, on the best
 *  routes. */
void dag_scan_arrivals(const struct dag_machine *machine, uint32_t from, double data, double time,
		       double *arrival);

/** The same on a full machine, of all processors: from `time` on. */
void dag_scan_raise(double *arrival, uint32_t processors, double time);

/** What is known of each processor. */
struct dag_scan {
	uint32_t processors;
	double *arrival; /**< of a task's data */
	double *free; /**< the end of the last task */
	double *last_end,
		*widest; /**< of the idle times before: the end of the last, the longest */
};

/** Puts into `out` those on which a task of this length may start first: behind all tasks, or in an
 *  idle time that may be long enough. Returns their number. */
uint32_t dag_scan_firsts(const struct dag_scan *scan, double run, uint32_t *out);

#endif
