// SPDX-License-Identifier: GPL-2.0-or-later
/* Moves and exchanges of tasks that lower the potential of parts.h, and sometimes raise it. The
 * room is the cost of the best plan. */
#include "anneal.h"

#include <math.h>
#include <string.h>

#include "eh/rule.h"

/* Temperatures in mean weights of a task, and the steepness of the potential: found by trial. A
 * less steep potential ends with plans that communicate less and do not fit. */
#define WARMEST 0.3
#define COLDEST 0.03
#define STEEP 15

struct annealing {
	struct assign_parts *s;
	uint64_t *random;
	double temperature, least, bound;
	uint32_t *best;
};

static bool accept(const struct annealing *a, double gain)
{
	if (gain >= 0)
		return true;
	return (double)(eh_random(a->random) >> 11) * 0x1p-53 < exp(gain / a->temperature);
}

static uint32_t some_part(const struct annealing *a)
{
	const struct assign_parts *s = a->s;

	if (s->ntouched && eh_random_below(a->random, 2))
		return s->touched[eh_random_below(a->random, s->ntouched)];
	return eh_random_below(a->random, s->count);
}

static bool try_move(const struct annealing *a, uint32_t v)
{
	struct assign_parts *s = a->s;
	bool taken;
	uint32_t b;

	assign_parts_look(s, v);
	b = some_part(a);
	taken = b != s->at[v] && accept(a, assign_parts_gain(s, v, b));
	if (taken)
		assign_parts_move(s, v, b);
	assign_parts_forget(s);
	return taken;
}

static double go(struct assign_parts *s, uint32_t v, uint32_t b)
{
	double gain;

	assign_parts_look(s, v);
	gain = assign_parts_gain(s, v, b);
	assign_parts_move(s, v, b);
	assign_parts_forget(s);
	return gain;
}

static bool try_exchange(const struct annealing *a, uint32_t v, uint32_t u)
{
	struct assign_parts *s = a->s;
	uint32_t here = s->at[v], there = s->at[u];
	double gain;

	if (here == there)
		return false;
	gain = go(s, v, there);
	gain += go(s, u, here);
	if (accept(a, gain))
		return true;
	go(s, u, there);
	go(s, v, here);
	return false;
}

static void lower(struct annealing *a, double most)
{
	struct assign_parts *s = a->s;

	a->least = most;
	memcpy(a->best, s->at, s->problem->tasks * sizeof(*a->best));
	/* values are whole numbers; none can be below the bound */
	assign_parts_limit(s, most - 1 > a->bound ? most - 1 : a->bound);
}

void assign_anneal(struct assign_parts *parts, uint64_t steps, double bound, uint32_t *best,
		   uint64_t *random, struct plan_watch *watch)
{
	struct annealing a = { parts, random, WARMEST * parts->mean_weight, 0, bound, best };
	uint32_t tasks = parts->problem->tasks, since = 0, often = parts->count / 64 + 1;
	double cooling = pow(COLDEST / WARMEST, 64.0 / steps);

	lower(&a, assign_parts_most(parts));
	parts->steep = parts->mean_weight > 0 ? STEEP / parts->mean_weight : 1;
	for (uint64_t i = 0; i < steps && a.least > bound && parts->count > 1; i++) {
		uint32_t v = eh_random_below(random, tasks);
		bool taken;

		if (!(i & 63)) {
			a.temperature *= cooling;
			if (plan_watch_over(watch))
				break;
		}
		if (eh_random_below(random, 4))
			taken = try_move(&a, v);
		else
			taken = try_exchange(&a, v, eh_random_below(random, tasks));
		/* among many parts the largest is not looked up each time */
		if (taken && ++since >= often) {
			double most = assign_parts_most(parts);

			since = 0;
			if (most < a.least)
				lower(&a, most);
		}
	}
	memcpy(parts->at, best, tasks * sizeof(*best));
	assign_parts_sum(parts);
}
