// SPDX-License-Identifier: GPL-2.0-or-later
/* What no plan is below. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "assign.h"

struct factors {
	double speed; /* sum of 1/compute: work that fits into a unit of cost */
	double compute; /* least */
	double talk; /* least between two processors */
};

static struct factors least_factors(const struct assign_problem *p)
{
	struct factors f = { 0, INFINITY, INFINITY };

	if (!p->machine)
		return (struct factors){ p->processors, 1, 1 };
	for (uint32_t k = 0; k < p->processors; k++) {
		f.speed += 1 / p->machine->compute[k];
		f.compute = fmin(f.compute, p->machine->compute[k]);
		for (uint32_t j = 0; j < p->processors; j++)
			if (j != k)
				f.talk = fmin(f.talk,
					      p->machine->talk[(size_t)k * p->processors + j]);
	}
	return f;
}

/* Where u is, each task that says much to it is too, or else talks to it from elsewhere. */
static double around(const struct assign_problem *p, const struct factors *f, uint32_t u)
{
	double sum = f->compute * p->work[u];

	for (uint32_t e = p->start[u]; e < p->start[u + 1]; e++)
		sum += fmin(f->compute * p->work[p->to[e]], f->talk * p->volume[e]);
	return sum;
}

int assign_bound(const struct assign_problem *problem, bool thorough, double *bound)
{
	struct factors f = least_factors(problem);
	double most = problem->total_work / f.speed;

	if (problem->processors == 1) {
		*bound = f.compute * problem->total_work;
		return 0;
	}
	for (uint32_t u = 0; u < problem->tasks; u++)
		most = fmax(most, around(problem, &f, u));
	*bound = problem->machine ? most * (1 - 1e-12) : ceil(most);
	return 0;
}
