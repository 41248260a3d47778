// SPDX-License-Identifier: GPL-2.0-or-later
#include "ring.h"

#include <errno.h>
#include <math.h>

/* e = 0 is a constant, which the linear search knows how to leave out. */
static struct divide_problem as_linear(const struct divide_problem *problem)
{
	struct divide_problem p = *problem;

	if (p.result == DIVIDE_POWER && (p.e == 0 || p.e == 1)) {
		p.result = DIVIDE_LINEAR;
		p.m = p.e == 1 ? p.k : 0;
		p.b = p.e == 0 ? p.k : 0;
	}
	return p;
}

/* The papers' equations between processors that have work, where those decided: the greatest
 * difference, as work of the processor at the left. Else what the shares are short of the work. */
static double residual_of(const struct divide_plan *plan, const struct divide_problem *p)
{
	double all = 0, most = 0;

	for (uint32_t i = 0; i < p->n; i++)
		all += plan->shares[i];
	for (uint32_t i = 0; p->result == DIVIDE_NONE && i + 1 < p->n; i++)
		if (plan->shares[i + 1] > 0)
			most = fmax(most,
				    fabs(plan->compute[i].finish - plan->compute[i + 1].finish) /
					    p->a[i]);
	return fmax(most, fabs(all - p->work));
}

int divide_plan(struct divide_plan *plan, const struct divide_problem *problem,
		struct plan_watch *watch)
{
	struct divide_problem p = as_linear(problem);
	int err = divide_plan_begin(plan, &p);

	if (!err)
		err = p.result == DIVIDE_NONE ? divide_chain(plan, &p)
					      : divide_search(plan, &p, watch);
	if (err)
		return err;
	divide_timing(plan, &p);
	if (p.result == DIVIDE_NONE)
		plan->lower_bound = plan->seconds;
	plan->residual = residual_of(plan, &p);
	return 0;
}
