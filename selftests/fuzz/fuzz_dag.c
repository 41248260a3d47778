// SPDX-License-Identifier: GPL-2.0-or-later
/* A task graph, and a machine behind a null byte: refused with a reason, or planned, and the plan is right. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/dag/check.h"
#include "plan/dag/read.h"
#include "plan/dag/solve.h"

#define TASKS_MAX 200 /* of graphs that are planned too */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void refused(int err, const struct plan_refusal *refusal)
{
	if (err != -EINVAL || !refusal->what[0])
		abort();
}

static void make_plan(struct dag_problem *problem, bool contention)
{
	struct dag_options how = { .method = contention ? DAG_LISTS : DAG_BEST, .steps = 20 };
	struct plan_refusal refusal = { 0 };
	struct dag_plan plan;

	if (dag_solve(problem, &how, NULL, &plan) ||
	    dag_check(problem, &plan.schedule, &plan.messages, &refusal) ||
	    plan.lower_bound > plan.schedule.makespan)
		abort();
	dag_plan_end(&plan);
}

static void plan_on(struct dag_graph *graph, const char *text, size_t length)
{
	for (int contention = 0; contention < 2; contention++) {
		struct plan_refusal refusal = { 0 };
		struct dag_machine *machine = NULL;
		struct dag_problem *problem;
		int err;

		if (length)
			err = dag_machine_read(text, length, 1, 0, &machine, &refusal);
		else
			err = dag_machine_topology("mesh:2x2", 0, 1, 1, &machine, &refusal);
		if (err) {
			refused(err, &refusal);
			return;
		}
		if (graph && graph->tasks <= TASKS_MAX && machine->nodes <= TASKS_MAX) {
			err = dag_problem_make(graph, machine, contention, &problem, &refusal);
			if (err)
				refused(err, &refusal);
			else
				make_plan(problem, contention);
			if (!err)
				dag_problem_free(problem);
		}
		dag_machine_free(machine);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *gap;
	struct plan_refusal refusal = { 0 };
	struct dag_graph *graph = NULL;
	struct dag_draft draft;
	size_t length;
	int err;

	memcpy(text, data, size);
	text[size] = '\0';
	gap = memchr(text, 0, size);
	length = gap ? (size_t)(gap - text) : size;
	err = dag_draft_begin(&draft);
	if (!err)
		err = dag_read(text, length, &draft, &refusal);
	if (!err)
		err = dag_graph_make(&draft, &graph, &refusal);
	if (err)
		refused(err, &refusal);
	dag_draft_end(&draft);
	plan_on(graph, gap ? gap + 1 : text, gap ? size - length - 1 : 0);
	dag_graph_free(graph);
	free(text);
	return 0;
}
