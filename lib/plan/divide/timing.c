// SPDX-License-Identifier: GPL-2.0-or-later
/* The times of a plan from its shares and the order on each link: all as early as possible. */
#include "ring.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

double divide_finish(const struct divide_ring *r, const double *w)
{
	double x = 0, q = 0, at = 0, results = 0, all = 0;
	bool returning = false;
	uint32_t last = 0;

	for (uint32_t i = 0; i < r->n; i++) {
		x += w[i];
		if (w[i] > 0)
			last = i;
	}
	for (uint32_t i = 0; i < r->n; i++) {
		double sent = 0, done;
		bool data_first;

		x = fmax(x - w[i], 0);
		if (i < last)
			sent = r->sd[i] + r->c[i] * x;
		done = at + (r->serial ? sent : 0) + r->a[i] * w[i];
		if (!i)
			all = done;
		returning = returning || (i && w[i] > 0);
		data_first = !returning || !r->results_first[i];
		if (data_first)
			at += sent;
		if (!returning)
			continue;
		if (w[i] > 0) {
			q += r->m[i] * w[i] + r->b[i];
			results = fmax(results, done);
		}
		if (i < last && data_first)
			results = fmax(results, at);
		results += r->sr[i] + r->c[i] * q;
		if (!data_first)
			at = fmax(at, results) + sent;
	}
	return fmax(all, results);
}

int divide_plan_begin(struct divide_plan *plan, const struct divide_problem *problem)
{
	*plan = (struct divide_plan){ 0 };
	plan->shares = calloc(problem->n, sizeof(*plan->shares));
	plan->compute = malloc(3 * (size_t)problem->n * sizeof(*plan->compute));
	plan->results_first = calloc(problem->n, sizeof(*plan->results_first));
	if (!plan->shares || !plan->compute || !plan->results_first)
		return -ENOMEM;
	plan->data = plan->compute + problem->n;
	plan->results = plan->data + problem->n;
	return 0;
}

void divide_plan_end(struct divide_plan *plan)
{
	free(plan->shares);
	free(plan->compute);
	free(plan->results_first);
	*plan = (struct divide_plan){ 0 };
}

static struct divide_span span(double start, double time, double volume)
{
	return (struct divide_span){ start, start + time, volume };
}

static const struct divide_span none = { 0, 0, -1 };

/* The data of all behind processor i, whose volume is known. Returns when they are at the next
 * one. */
static double time_data(struct divide_plan *plan, const struct divide_problem *p, uint32_t i,
			double start)
{
	double volume = plan->data[i].volume;

	if (volume > 0)
		plan->data[i] = span(start, p->s[i] + p->c[i] * volume, volume);
	else
		plan->data[i] = none;
	return volume > 0 ? plan->data[i].finish : start;
}

/* The results of all processors up to i, merged, over link i. */
static void time_results(struct divide_plan *plan, const struct divide_problem *p, uint32_t i,
			 double *ready, double *volume)
{
	*volume = fmax(*volume, 0) + divide_result_of(p, plan->shares[i]);
	if (plan->compute[i].volume >= 0)
		*ready = fmax(*ready, plan->compute[i].finish);
	plan->results[i] = span(*ready, p->s[i] + p->c[i] * *volume, *volume);
	*ready = plan->results[i].finish;
}

void divide_timing(struct divide_plan *plan, const struct divide_problem *p)
{
	double at = 0, ready = 0, volume = -1, behind = 0;

	/* the volume on a link is the sum of the shares behind it */
	for (uint32_t i = p->n; i-- > 0;) {
		plan->data[i].volume = behind;
		behind += plan->shares[i];
	}
	plan->seconds = 0;
	plan->used = 0;
	for (uint32_t i = 0; i < p->n; i++) {
		double share = plan->shares[i], came = at;
		bool returns = p->result != DIVIDE_NONE && i && (volume >= 0 || share > 0);
		bool data_first = !returns || !plan->results_first[i];

		if (data_first)
			at = time_data(plan, p, i, came);
		plan->compute[i] =
			share > 0 ? span(p->serial ? at : came, share * p->a[i], share) : none;
		plan->used += share > 0;
		plan->results[i] = none;
		if (returns && data_first && plan->data[i].volume >= 0)
			ready = fmax(ready, at);
		if (returns)
			time_results(plan, p, i, &ready, &volume);
		if (!data_first)
			at = time_data(plan, p, i, fmax(came, ready));
		plan->seconds = fmax(plan->seconds, share > 0 ? plan->compute[i].finish : 0);
	}
	plan->seconds = fmax(plan->seconds, ready);
}
