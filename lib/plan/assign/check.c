// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Checks a plan. This sums over pairs, each once from its lower end, where the code that makes
 * plans sums over tasks. It shares nothing with that code.
 */
#include "assign.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Sums in a different order may differ in the last digits if factors are not whole numbers. */
#define SAME 1e-9

static bool same(double a, double b)
{
	return fabs(a - b) <= SAME * fmax(fabs(a), fabs(b));
}

static void recompute(const struct assign_problem *p, const uint32_t *at, double *work,
		      double *talk)
{
	const struct assign_machine *m = p->machine;
	size_t all = p->processors;

	for (uint32_t a = 0; a < p->tasks; a++) {
		work[at[a]] += p->work[a];
		for (uint32_t e = p->start[a + 1]; e-- > p->start[a];) {
			uint32_t i = at[a], j = at[p->to[e]];

			if (p->to[e] < a || i == j)
				continue;
			talk[i] += p->volume[e] * (m ? m->talk[i * all + j] : 1);
			talk[j] += p->volume[e] * (m ? m->talk[j * all + i] : 1);
		}
	}
	for (size_t k = 0; m && k < all; k++)
		work[k] *= m->compute[k];
}

static int compare(const struct assign_problem *p, const struct assign_plan *plan,
		   const double *work, const double *talk, struct plan_refusal *wrong)
{
	char id[24];
	double most = 0;

	for (uint32_t k = 0; k < p->processors; k++) {
		if (!same(work[k], plan->work[k]) || !same(talk[k], plan->talk[k]) ||
		    !same(work[k] + talk[k], plan->cost[k]))
			return plan_refuse(
				wrong, 0, NULL,
				"processor %.40s has work %.17g and communication %.17g, "
				"not %.17g and %.17g",
				assign_processor(p, k, id), work[k] * p->unit, talk[k] * p->unit,
				plan->work[k] * p->unit, plan->talk[k] * p->unit);
		most = fmax(most, work[k] + talk[k]);
	}
	if (!same(most, plan->total))
		return plan_refuse(wrong, 0, NULL, "the cost is %.17g, not %.17g", most * p->unit,
				   plan->total * p->unit);
	if (!(plan->lower_bound <= most * (1 + SAME)))
		return plan_refuse(wrong, 0, NULL, "the cost is %.17g, below its lower bound %.17g",
				   most * p->unit, plan->lower_bound * p->unit);
	if (plan->optimal && !same(plan->lower_bound, most))
		return plan_refuse(wrong, 0, NULL,
				   "called optimal, at cost %.17g and lower bound %.17g",
				   most * p->unit, plan->lower_bound * p->unit);
	return 0;
}

int assign_check(const struct assign_problem *problem, const struct assign_plan *plan,
		 struct plan_refusal *wrong)
{
	double *work, *talk;
	char id[24];
	int err = -ENOMEM;

	for (uint32_t u = 0; u < problem->tasks; u++)
		if (plan->at[u] >= problem->processors)
			return plan_refuse(wrong, 0, NULL, "task %.80s has no processor",
					   assign_task(problem, u, id));
	work = calloc(problem->processors, sizeof(*work));
	talk = calloc(problem->processors, sizeof(*talk));
	if (work && talk) {
		recompute(problem, plan->at, work, talk);
		err = compare(problem, plan, work, talk, wrong);
	}
	free(work);
	free(talk);
	return err;
}
