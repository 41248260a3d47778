/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file dag.h  One call of `ehctl plan dag`, and the ways to show its plan. */
#ifndef EHPLAN_DAG_H
#define EHPLAN_DAG_H

#include "ehplan.h"
#include "plan/dag/solve.h"

/** What one call has read and planned. */
struct dag_call {
	struct plan_call *call;
	struct dag_graph *graph;
	struct dag_machine *machine;
	struct dag_problem *problem;
	struct dag_plan plan;
	const char *algorithm;
	double rate; /**< of links that do not have their own: units of data per unit of time */
};

/** Prints the members of `document`, then "schedule" and "messages". Returns the exit code. */
int dag_show_json(const struct dag_call *c, json_t *document);
/** Prints the tasks by processor and start. Returns the exit code. */
int dag_show_table(const struct dag_call *c);
/** Draws the plan into the SVG file of --gantt: a row for each processor that has tasks, then one
 *  for each direction of a link that has messages. Returns the exit code. */
int dag_show_gantt(const struct dag_call *c);

#endif
