/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file problem.h
 * A task graph on a machine. Paper 3, section 2.3: task a runs w(a)/S + B on a processor; its d
 * units to a task elsewhere take d/R + I on each link of their way, and nothing on the same
 * processor. With contention a link carries one message at a time in each direction.
 */
#ifndef PLAN_DAG_PROBLEM_H
#define PLAN_DAG_PROBLEM_H

#include "graph.h"
#include "machine.h"

struct dag_problem {
	const struct dag_graph *graph;
	const struct dag_machine *machine;
	bool contention;
	uint32_t tasks, processors;
	bool same; /**< each task takes as long on all processors */
	bool silent; /**< no message takes any time */
	bool whole; /**< all times are whole numbers, and so is the length of a best plan */
	double *least; /**< shortest run time of each task */
	double *mean; /**< over the processors */
	double *times; /**< tasks x processors, or NULL: too many, or `same` */
	double *share; /**< of processors: weights with the sum 1, for bounds on load */
	double least_startup, least_unit; /**< least of any message; 0 with one processor */
	double mean_startup, mean_unit; /**< of one between two processors */
};

/** Makes a problem, and the routes of the machine. Graph and machine stay the caller's, and must
 *  outlive the problem. 0, -ENOMEM, or -EINVAL: graph and machine do not fit, or there are too many
 *  processors for contention. */
int dag_problem_make(const struct dag_graph *graph, struct dag_machine *machine, bool contention,
		     struct dag_problem **out, struct plan_refusal *refusal);
void dag_problem_free(struct dag_problem *problem);

/** The run time of a task: w/S + B (paper 3, section 2.3), or from its table. */
static inline double dag_run_time(const struct dag_problem *p, uint32_t task, uint32_t processor)
{
	if (p->same)
		return p->least[task];
	if (p->times)
		return p->times[(size_t)task * p->processors + processor];
	return p->graph->work[task] / p->machine->speed[processor] + p->machine->startup[processor];
}

/** The time of a message between two processors, without waiting (paper 3, section 2.3). */
static inline double dag_message_time(const struct dag_problem *p, double data, uint32_t from,
				      uint32_t to)
{
	return dag_machine_transfer(p->machine, from, to, data);
}

/** The processor on which all tasks together take the least time, and that time. */
uint32_t dag_problem_fastest(const struct dag_problem *problem, double *seconds);

#endif
