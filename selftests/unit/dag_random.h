/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random task graphs on random machines, for tests of the dag planner. */
#ifndef UNIT_DAG_RANDOM_H
#define UNIT_DAG_RANDOM_H

#include "plan/dag/problem.h"
#include "random.h"

struct dag_case {
	struct dag_graph *graph;
	struct dag_machine *machine;
	struct dag_problem *problem;
};

static inline void dag_case_end(struct dag_case *c)
{
	dag_problem_free(c->problem);
	dag_machine_free(c->machine);
	dag_graph_free(c->graph);
}

/* Work 0..20, up to three of the last eight before each, data 0..data-1; 0 or -ENOMEM. */
static inline int dag_case_make(struct dag_case *c, uint32_t tasks, const char *topology,
				uint32_t processors, uint32_t data, bool contention)
{
	struct plan_refusal refusal = { 0 };
	struct dag_draft draft;
	char name[16];
	int err = dag_draft_begin(&draft);

	*c = (struct dag_case){ 0 };
	for (uint32_t i = 0; i < tasks && !err; i++) {
		snprintf(name, sizeof(name), "t%u", i);
		err = dag_draft_task(&draft, name, random_below(21)) < 0 ? -1 : 0;
		for (uint32_t k = random_below(4); k && i && !err; k--)
			err = dag_draft_edge(&draft, i - 1 - random_below(i < 8 ? i : 8), i,
					     random_below(data), 0);
	}
	if (!err)
		dag_draft_unite(&draft);
	if (!err)
		err = dag_graph_make(&draft, &c->graph, &refusal);
	dag_draft_end(&draft);
	if (!err)
		err = dag_machine_topology(topology, processors, 2, 1, &c->machine, &refusal);
	if (!err)
		err = dag_problem_make(c->graph, c->machine, contention, &c->problem, &refusal);
	return err;
}

#endif
