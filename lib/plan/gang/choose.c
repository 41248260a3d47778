// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Of all sets of k hosts, the k that are least used have the least largest utilisation, and T
 * depends on nothing else but k: the best prefix of the sorted hosts is the best set.
 */
#include "gang.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11
#define DIGITS 6 /* of 64 bits */

/* Bits of doubles that are not negative sort as they do. By digits from the least, which keeps
 * equal ones in their order. */
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
	/* nothing to compute takes no time on a host that is always busy either */
	return t->load + t->comm + t->collect + (t->compute > 0 ? t->compute * slow : 0);
}

/*
 * The largest utilisation with which all hosts together are still so much faster than one that is
 * idle. It goes out with the request, when nobody's utilisation is known, so it cannot be one of
 * theirs. Negative: not even idle they are.
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
		/* as the daemons do: below it, not at it */
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
