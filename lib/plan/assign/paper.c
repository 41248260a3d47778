// SPDX-License-Identifier: GPL-2.0-or-later
/* The heuristic of paper 0, section 3.1. */
#include "assign.h"

#include <errno.h>
#include <stdlib.h>

#define NOWHERE UINT32_MAX

struct first {
	double cost;
	uint32_t task;
};

/* Largest first; equal ones in the order of the input. */
static int by_cost(const void *x, const void *y)
{
	const struct first *a = x, *b = y;

	if (a->cost != b->cost)
		return a->cost > b->cost ? -1 : 1;
	return a->task < b->task ? -1 : a->task > b->task;
}

static struct first *order(const struct assign_problem *p, bool sorted)
{
	struct first *list = calloc(p->tasks, sizeof(*list));

	if (!list)
		return NULL;
	for (uint32_t u = 0; u < p->tasks; u++) {
		list[u] = (struct first){ p->work[u], u };
		for (uint32_t e = p->start[u]; e < p->start[u + 1]; e++)
			list[u].cost += p->volume[e];
	}
	if (sorted)
		qsort(list, p->tasks, sizeof(*list), by_cost);
	return list;
}

struct placing {
	const struct assign_problem *p;
	uint32_t *at;
	double *f;
	double *volume; /* to the tasks placed on each processor, of those in `touched` */
	uint32_t *touched, count;
	double placed; /* all of them */
	uint32_t *tree,
		leaves; /* least f, lowest index on ties: [1] of all, [i] of 2i and 2i + 1 */
};

static uint32_t least_of(const struct placing *s, uint32_t a, uint32_t b)
{
	if (a == NOWHERE || b == NOWHERE)
		return a == NOWHERE ? b : a;
	return s->f[b] < s->f[a] ? b : a;
}

static int plant(struct placing *s)
{
	s->leaves = 1;
	while (s->leaves < s->p->processors)
		s->leaves *= 2;
	s->tree = calloc(2 * (size_t)s->leaves, sizeof(*s->tree));
	if (!s->tree)
		return -ENOMEM;
	for (uint32_t k = 0; k < s->leaves; k++)
		s->tree[s->leaves + k] = k < s->p->processors ? k : NOWHERE;
	for (uint32_t i = s->leaves; i-- > 1;)
		s->tree[i] = least_of(s, s->tree[2 * i], s->tree[2 * i + 1]);
	return 0;
}

static void raise_cost(struct placing *s, uint32_t k, double f)
{
	s->f[k] = f;
	for (uint32_t i = (s->leaves + k) / 2; i; i /= 2)
		s->tree[i] = least_of(s, s->tree[2 * i], s->tree[2 * i + 1]);
}

static void gather(struct placing *s, uint32_t u)
{
	const struct assign_problem *p = s->p;

	s->placed = 0;
	s->count = 0;
	for (uint32_t e = p->start[u]; e < p->start[u + 1]; e++) {
		uint32_t j = s->at[p->to[e]];

		if (j == NOWHERE || !p->volume[e])
			continue;
		if (!s->volume[j])
			s->touched[s->count++] = j;
		s->volume[j] += p->volume[e];
		s->placed += p->volume[e];
	}
}

/* f_k with u on k: plus its work, and its communication with tasks placed elsewhere. */
static double own(const struct placing *s, uint32_t u, uint32_t k)
{
	const struct assign_machine *m = s->p->machine;
	double f = s->f[k];

	if (!m)
		return f + s->p->work[u] + s->placed - s->volume[k];
	f += m->compute[k] * s->p->work[u];
	for (uint32_t i = 0; i < s->count; i++)
		f += m->talk[(size_t)k * s->p->processors + s->touched[i]] *
		     s->volume[s->touched[i]];
	return f;
}

/* The processor whose own f is least with u. Among equal processors it has neighbours of u, or it
 * has the least f of all, so the others need not be looked at. */
static uint32_t choose(const struct placing *s, uint32_t u, double *least)
{
	bool alike = !s->p->machine;
	uint32_t best = alike ? s->tree[1] : 0;
	uint32_t count = alike ? s->count : s->p->processors;

	*least = own(s, u, best);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t k = alike ? s->touched[i] : i;
		double f = own(s, u, k);

		if (f < *least || (f == *least && k < best)) {
			*least = f;
			best = k;
		}
	}
	return best;
}

static void place(struct placing *s, uint32_t u)
{
	const struct assign_machine *m = s->p->machine;
	double least;
	uint32_t best = choose(s, u, &least);

	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t j = s->touched[i];
		double factor = m ? m->talk[(size_t)j * s->p->processors + best] : 1;

		if (j != best)
			raise_cost(s, j, s->f[j] + factor * s->volume[j]);
		s->volume[j] = 0;
	}
	raise_cost(s, best, least);
	s->at[u] = best;
}

int assign_paper(const struct assign_problem *problem, bool sorted, struct assign_plan *plan,
		 assign_step *step, void *ctx)
{
	struct first *list = order(problem, sorted);
	struct placing s = {
		.p = problem,
		.at = plan->at,
		.f = calloc(problem->processors, sizeof(*s.f)),
		.volume = calloc(problem->processors, sizeof(*s.volume)),
		.touched = calloc(problem->processors, sizeof(*s.touched)),
	};
	int err = -ENOMEM;

	if (!list || !s.f || !s.volume || !s.touched || plant(&s))
		goto done;
	for (uint32_t u = 0; u < problem->tasks; u++)
		plan->at[u] = NOWHERE;
	for (uint32_t i = 0; i < problem->tasks; i++) {
		uint32_t u = list[i].task;

		gather(&s, u);
		place(&s, u);
		if (step)
			step(ctx, u, plan->at[u], s.f);
	}
	assign_evaluate(problem, plan);
	err = 0;

done:
	free(list);
	free(s.f);
	free(s.volume);
	free(s.touched);
	free(s.tree);
	return err;
}
