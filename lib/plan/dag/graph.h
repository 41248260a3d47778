/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file graph.h
 * The application of paper 3: tasks with work, edges with data, a partial order. Tasks are numbered
 * topologically, so a loop over 0..n-1 visits each task after its predecessors.
 */
#ifndef PLAN_DAG_GRAPH_H
#define PLAN_DAG_GRAPH_H

#include "plan/names.h"
#include "plan/plan.h"

#define DAG_TASKS_MAX (1u << 24)
#define DAG_EDGES_MAX (1u << 27)
#define DAG_NUMBER_MAX 1e15 /**< of work, data and rates, so that sums stay exact enough */
#define DAG_NUMBER_LEAST 1e-9 /**< of speeds and rates, because they divide */

/** One end of an edge, as seen from the other. */
struct dag_arc {
	uint32_t task; /**< the other end */
	uint32_t edge; /**< its number: place in dag_graph.out */
	double data;
};

struct dag_graph {
	uint32_t tasks, edges;
	double *work; /**< units of work */
	double *times; /**< NULL, or tasks x columns run times instead of work */
	uint32_t columns;
	uint32_t *in_at, *out_at; /**< tasks + 1: where a task's arcs begin */
	struct dag_arc *in, *out; /**< by the other end's number */
	uint32_t *origin; /**< number among the names, as the input has it */
	struct plan_names *names;
};

/** An edge as readers fill it in, in the order of the input. */
struct dag_edge {
	uint32_t from, to;
	uint32_t place; /**< line, or index for dag_draft.pattern */
	double data;
};

struct dag_draft {
	struct plan_names *names; /**< of tasks */
	double *work;
	double *times; /**< tasks x columns, or NULL; a row begins below 0: the task has work */
	uint32_t columns;
	size_t work_room, times_room;
	struct dag_edge *edges;
	uint32_t nedges;
	size_t edges_room;
	const char *pattern; /**< JSON path of an edge with one %u, or NULL: places are lines */
	uint32_t processors; /**< number that the input gives; 0: none */
	bool bytes; /**< data are bytes, work is seconds */
};

int dag_draft_begin(struct dag_draft *draft); /**< 0 or -ENOMEM; end it in either case */
void dag_draft_end(struct dag_draft *draft);
/** Adds a task. Its number, or -EEXIST, -ENOMEM, -E2BIG. */
int64_t dag_draft_task(struct dag_draft *draft, const char *name, double work);
/** Adds an edge. 0, -ENOMEM or -E2BIG. */
int dag_draft_edge(struct dag_draft *draft, uint32_t from, uint32_t to, double data,
		   uint32_t place);
/** Keeps one of several edges that join the same tasks, for formats that list each edge twice. */
void dag_draft_unite(struct dag_draft *draft);

/** Refuses cycles, duplicate edges and an empty set of tasks. Takes the draft's names when it
 *  succeeds. 0, -EINVAL with the refusal, or -ENOMEM. */
int dag_graph_make(struct dag_draft *draft, struct dag_graph **out, struct plan_refusal *refusal);
void dag_graph_free(struct dag_graph *graph);

static inline const char *dag_task_name(const struct dag_graph *g, uint32_t task)
{
	return plan_names_text(g->names, g->origin[task]);
}

#endif
