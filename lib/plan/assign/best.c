// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs the searches that suit the problem and keeps the best plan. */
#include "assign.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "anneal.h"
#include "eh/rule.h"
#include "refine.h"
#include "start.h"

/* Limits are on steps, not on time, so that a seed repeats its plan. */
#define ANNEAL_TASKS 3000
#define EXACT_TASKS 40
#define EXACT_NODES 200000
#define PAPER_TASKS 100000
#define METIS_TASKS 100
#define METIS_SIZE 250000 /* tasks and pairs of all starts */
#define METIS_STARTS 12
#define ROUNDS 20

struct best {
	const struct assign_problem *p;
	struct assign_plan *plan;
	struct plan_watch *watch;
	uint64_t random;
	uint32_t *at, *spare;
	bool started; /* METIS could help */
};

/* Keeps an assignment that is better than the plan. */
static void keep(struct best *b, struct assign_parts *s)
{
	if (assign_parts_most(s) >= b->plan->total)
		return;
	memcpy(b->plan->at, s->at, b->p->tasks * sizeof(*b->at));
	assign_evaluate(b->p, b->plan);
}

static bool enough(const struct best *b)
{
	return b->plan->total <= b->plan->lower_bound || plan_watch_over(b->watch);
}

static int from_paper(struct best *b, struct assign_parts *s)
{
	struct assign_plan *plan = assign_plan_new(b->p);
	int err = plan ? 0 : -ENOMEM;

	for (int sorted = 0; sorted < 2 && !err && !enough(b); sorted++) {
		err = assign_paper(b->p, sorted, plan, NULL, NULL);
		if (err)
			break;
		assign_parts_set(s, plan->at);
		keep(b, s);
	}
	assign_plan_free(plan);
	return err;
}

static uint32_t restarts(uint32_t tasks)
{
	return tasks <= 14 ? 2 : tasks <= 500 ? 6 : 3;
}

static uint64_t steps(uint32_t tasks)
{
	return tasks <= 14 ? 300u * tasks : tasks <= 500 ? 30000 + 600u * tasks : 300000;
}

static int annealed(struct best *b, struct assign_parts *s)
{
	uint32_t all = restarts(b->p->tasks);
	int err = 0;

	for (uint32_t i = 0; i < all && !err && !enough(b); i++) {
		plan_watch_progress(b->watch, "annealing", i, all);
		if (i & 1)
			for (uint32_t u = 0; u < b->p->tasks; u++)
				b->at[u] = eh_random_below(&b->random, s->count);
		else
			memcpy(b->at, b->plan->at, b->p->tasks * sizeof(*b->at));
		assign_parts_set(s, b->at);
		assign_anneal(s, steps(b->p->tasks), b->plan->lower_bound, b->spare, &b->random,
			      b->watch);
		keep(b, s);
		err = assign_refine(s, 3, 30, &b->random, b->watch);
		keep(b, s);
	}
	plan_watch_progress(b->watch, "annealing", all, all);
	return err;
}

static int partitioned(struct best *b, uint32_t parts, uint32_t starts)
{
	static const uint32_t slack[] = { 10, 30, 5 };
	struct assign_parts *s = assign_parts_new(b->p, parts);
	int err = s ? 1 : -ENOMEM;

	for (uint32_t i = 0; i < starts && err > 0 && !enough(b); i++) {
		plan_watch_progress(b->watch, "partitioning", i, starts);
		err = assign_start(b->p, parts, slack[i % 3], i & 1, eh_random(&b->random) >> 33,
				   b->at);
		if (err <= 0)
			break;
		b->started = true;
		assign_parts_set(s, b->at);
		keep(b, s);
		err = assign_refine(s, ROUNDS, starts > 1 ? 30 : 10, &b->random, b->watch);
		keep(b, s);
		err = err ? err : 1;
	}
	plan_watch_progress(b->watch, "partitioning", starts, starts);
	assign_parts_free(s);
	return err < 0 ? err : 0;
}

/* Fewer parts may cost less than all parts if the works leave room for it. With ever fewer parts
 * the cost falls, then rises. */
static int partitions(struct best *b)
{
	const struct assign_problem *p = b->p;
	uint32_t parts = p->processors < p->tasks ? p->processors : p->tasks;
	uint32_t starts = METIS_SIZE / (p->tasks + p->start[p->tasks] / 2) + 1, worse = 0;
	int err;

	if (starts > METIS_STARTS)
		starts = METIS_STARTS;
	err = partitioned(b, parts, starts);
	while (!err && parts > 2 && !p->machine && worse < 2 && !enough(b)) {
		double before = b->plan->total;

		parts = parts / 4 * 3 > 1 ? parts / 4 * 3 : parts - 1;
		if (p->total_work / parts >= before)
			break;
		err = partitioned(b, parts, (starts + 2) / 3);
		worse = b->plan->total < before ? 0 : worse + 1;
	}
	return err;
}

/* From the best so far, which may be the paper's. */
static int refined(struct best *b, struct assign_parts *s)
{
	int err;

	memcpy(b->at, b->plan->at, b->p->tasks * sizeof(*b->at));
	assign_parts_set(s, b->at);
	err = assign_refine(s, ROUNDS, 30, &b->random, b->watch);
	keep(b, s);
	return err;
}

static int search(struct best *b)
{
	const struct assign_problem *p = b->p;
	struct assign_parts *s;
	int err;

	err = assign_bound(p, &b->plan->lower_bound);
	if (err || p->processors == 1)
		return err;
	s = assign_parts_new(p, p->processors);
	if (!s)
		return -ENOMEM;
	if (p->tasks > METIS_TASKS)
		err = partitions(b);
	/* the paper's plans are worse than those of METIS, and take as long */
	if (!err && (p->tasks <= PAPER_TASKS || !b->started) && !enough(b))
		err = from_paper(b, s);
	if (!err && p->tasks > ANNEAL_TASKS && !b->started && !enough(b))
		err = refined(b, s);
	if (!err && p->tasks <= ANNEAL_TASKS && !enough(b))
		err = annealed(b, s);
	assign_parts_free(s);
	return err;
}

int assign_best(const struct assign_problem *problem, uint64_t seed, struct plan_watch *watch,
		struct assign_plan *plan)
{
	struct best b = {
		.p = problem,
		.plan = plan,
		.watch = watch,
		.random = seed,
		.at = calloc(problem->tasks, sizeof(*b.at)),
		.spare = calloc(problem->tasks, sizeof(*b.spare)),
	};
	int err = -ENOMEM;

	if (b.at && b.spare)
		err = search(&b);
	if (!err && problem->tasks <= EXACT_TASKS && plan->total > plan->lower_bound)
		err = assign_exact(problem, EXACT_NODES, watch, plan);
	if (plan->total <= plan->lower_bound)
		plan->optimal = true;
	free(b.at);
	free(b.spare);
	return err < 0 ? err : 0;
}
