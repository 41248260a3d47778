// SPDX-License-Identifier: GPL-2.0-or-later
#include "assign.h"

#include <stdlib.h>
#include <string.h>

struct assign_plan *assign_plan_new(const struct assign_problem *problem)
{
	struct assign_plan *plan = calloc(1, sizeof(*plan));
	uint32_t best = 0;

	if (!plan)
		return NULL;
	plan->at = calloc(problem->tasks, sizeof(*plan->at));
	plan->work = calloc(problem->processors, sizeof(*plan->work));
	plan->talk = calloc(problem->processors, sizeof(*plan->talk));
	plan->cost = calloc(problem->processors, sizeof(*plan->cost));
	if (!plan->at || !plan->work || !plan->talk || !plan->cost) {
		assign_plan_free(plan);
		return NULL;
	}
	for (uint32_t k = 1; problem->machine && k < problem->processors; k++)
		if (problem->machine->compute[k] < problem->machine->compute[best])
			best = k;
	for (uint32_t u = 0; u < problem->tasks; u++)
		plan->at[u] = best;
	assign_evaluate(problem, plan);
	return plan;
}

void assign_plan_free(struct assign_plan *plan)
{
	if (!plan)
		return;
	free(plan->at);
	free(plan->work);
	free(plan->talk);
	free(plan->cost);
	free(plan);
}

void assign_evaluate(const struct assign_problem *problem, struct assign_plan *plan)
{
	const struct assign_machine *m = problem->machine;
	uint32_t processors = problem->processors;

	memset(plan->work, 0, processors * sizeof(*plan->work));
	memset(plan->talk, 0, processors * sizeof(*plan->talk));
	for (uint32_t u = 0; u < problem->tasks; u++) {
		uint32_t k = plan->at[u];
		double cut = 0;

		plan->work[k] += m ? m->compute[k] * problem->work[u] : problem->work[u];
		for (uint32_t e = problem->start[u]; e < problem->start[u + 1]; e++) {
			uint32_t j = plan->at[problem->to[e]];

			if (j != k)
				cut += m ? m->talk[(size_t)k * processors + j] * problem->volume[e]
					 : problem->volume[e];
		}
		plan->talk[k] += cut;
	}
	plan->total = 0;
	for (uint32_t k = 0; k < processors; k++) {
		plan->cost[k] = plan->work[k] + plan->talk[k];
		if (plan->cost[k] > plan->total)
			plan->total = plan->cost[k];
	}
}
