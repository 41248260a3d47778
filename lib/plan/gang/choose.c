// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Of all sets of k hosts, the k least used hosts have the smallest largest utilisation, and besides
 * it T depends only on k. So the best prefix of the sorted hosts is the best set.
 */
#include "gang.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11
#define DIGITS 6 /* of 64 bits */

/* The bits of doubles that are not negative sort like their values. Sorting by digits, the least
 * one first, keeps equal ones in their order. */
static int sort_hosts(uint32_t *order, const double *utilization, uint32_t n)
{
	uint32_t(*places)[1 << DIGIT_BITS] = calloc(DIGITS, sizeof(*places));
	uint32_t *from = order, *to = malloc(n * sizeof(*to)), *spare = to;
	uint64_t *bits = malloc(n * sizeof(*bits));
	int err = -ENOMEM;

	if (!places || !to || !bits)
		goto out;
	for (uint32_t i = 0; i < n; i++) {
		order[i] = i;
		memcpy(&bits[i], &utilization[i], sizeof(bits[i]));
		for (unsigned int d = 0; d < DIGITS; d++)
			places[d][bits[i] >> d * DIGIT_BITS & ((1 << DIGIT_BITS) - 1)]++;
	}
	for (unsigned int d = 0; d < DIGITS; d++) {
		uint32_t at = 0, *swap = from;
		bool alike = false;

		for (unsigned int v = 0; v < 1 << DIGIT_BITS; v++) {
			uint32_t here = places[d][v];

			alike |= here == n;
			places[d][v] = at;
			at += here;
		}
		if (alike)
			continue;
		for (uint32_t i = 0; i < n; i++)
			to[places[d][bits[from[i]] >> d * DIGIT_BITS & ((1 << DIGIT_BITS) - 1)]++] =
				from[i];
		from = to;
		to = swap;
	}
	if (from != order)
		memcpy(order, from, n * sizeof(*order));
	err = 0;
out:
	free(places);
	free(spare);
	free(bits);
	return err;
}

static double total(const struct gang_times *t, double slow)
{
	/* without work a host that is always busy takes no time either */
	return t->load + t->comm + t->collect + (t->compute > 0 ? t->compute * slow : 0);
}

/*
 * The largest utilisation with which all hosts together are still this much faster than one idle
 * host. It is sent with the request, before any utilisation is known, so it cannot depend on them.
 * Negative: even idle hosts are not fast enough.
 */
static double find_threshold(const struct gang_problem *p, double alone)
{
	double low = 0, high = 1, allowed;
	struct gang_times t;
	uint32_t count = p->n;

	while (!gang_times(p, count, &t))
		count--;
	allowed = alone / p->min_speedup;
	if (total(&t, 1) > allowed)
		return -1;
	if (total(&t, gang_slow(p->slowdown, 1)) <= allowed)
		return 1;
	for (unsigned int i = 0; i < 64; i++) {
		double middle = (low + high) / 2;

		if (total(&t, gang_slow(p->slowdown, middle)) <= allowed)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static int begin(struct gang_plan *plan, const struct gang_problem *p)
{
	*plan = (struct gang_plan){ .threshold = 1, .offered = p->n, .seconds = INFINITY };
	plan->order = malloc(p->n * sizeof(*plan->order));
	plan->counts = malloc(p->n * sizeof(*plan->counts));
	plan->times = malloc(p->n * sizeof(*plan->times));
	return plan->order && plan->counts && plan->times ? 0 : -ENOMEM;
}

void gang_plan_end(struct gang_plan *plan)
{
	free(plan->order);
	free(plan->counts);
	free(plan->times);
	*plan = (struct gang_plan){ 0 };
}

static void choose(struct gang_plan *plan, const struct gang_problem *p)
{
	struct gang_times t;

	for (uint32_t count = 1; count <= plan->offered; count++) {
		double slow = gang_slow(p->slowdown, p->utilization[plan->order[count - 1]]);
		double seconds;

		if (!gang_times(p, count, &t))
			continue;
		seconds = total(&t, slow);
		plan->counts[plan->nprefixes] = count;
		plan->times[plan->nprefixes++] = seconds;
		if (seconds < plan->seconds) {
			plan->seconds = seconds;
			plan->count = count;
		}
	}
}

int gang_plan(struct gang_plan *plan, const struct gang_problem *p)
{
	struct gang_times one = { 0 };
	int err = begin(plan, p);

	if (!err)
		err = sort_hosts(plan->order, p->utilization, p->n);
	if (err)
		return err;
	gang_times(p, 1, &one);
	plan->alone = total(&one, 1);
	if (p->min_speedup > 0) {
		plan->threshold = find_threshold(p, plan->alone);
		/* like the daemons: below it, not at it */
		while (plan->offered && plan->threshold < 1 &&
		       !(p->utilization[plan->order[plan->offered - 1]] < plan->threshold))
			plan->offered--;
	}
	choose(plan, p);
	plan->speedup = plan->seconds > 0 ? plan->alone / plan->seconds : 1;
	if (p->min_speedup > 0 && !(plan->speedup >= p->min_speedup))
		return -ERANGE;
	return 0;
}
