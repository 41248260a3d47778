// SPDX-License-Identifier: GPL-2.0-or-later
#include "ring.h"

#include <errno.h>
#include <math.h>

/* with e = 0 a result is constant, which the linear search handles */
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

/* The largest error of the paper's equations between processors that have work, where they decide,
 * as work of the processor on the left; else the difference of the sum of the shares and the
 * work. */
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
