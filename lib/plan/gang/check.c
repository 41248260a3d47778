// SPDX-License-Identifier: GPL-2.0-or-later
/* Checks a plan by the formulas of docs/planners.md; shares nothing with the code that makes
 * plans. */
#include "gang.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* T of a set of this size with this largest utilisation; NAN: not in the model. */
static double seconds_of(const struct gang_problem *p, uint32_t hosts, double eta)
{
	double n = p->size, h = hosts, slow, to, rest;

	if (p->kind == GANG_MATMUL) {
		double q = rint(sqrt(h));

		if (q * q != h)
			return NAN;
		to = n * n * n * (p->t_mult + p->t_add) / h;
		rest = q * p->alpha + 4 * p->beta * q * n * n; /* T_s */
		rest += h * p->alpha + 4 * p->beta * n * n; /* T_r */
		rest += h > 1 ? (h + q) * (p->alpha + 4 * p->beta * n * n / h) : 0; /* T_c */
	} else if (p->kind == GANG_WAVE) {
		to = (3 * p->t_mult + 4 * p->t_add) * n * p->steps / h;
		rest = (p->alpha + 8 * p->beta) * p->steps * 2 + h * p->alpha + 8 * p->beta * n;
	} else {
		if (hosts > p->counts)
			return NAN;
		to = p->compute[hosts - 1];
		rest = (p->load ? p->load[hosts - 1] : 0) + (p->comm ? p->comm[hosts - 1] : 0) +
		       (p->collect ? p->collect[hosts - 1] : 0);
	}
	if (p->slowdown == GANG_PAPER || eta <= 0.05)
		slow = 1 / (1 - eta);
	else
		slow = eta >= 0.3 ? 2 : 1 / 0.95 + (eta - 0.05) * (2 - 1 / 0.95) / 0.25;
	return to > 0 ? rest + to * slow : rest;
}

static bool close_to(double a, double b)
{
	return a == b || fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static bool say(char *why, size_t size, const char *what)
{
	snprintf(why, size, "%s", what);
	return false;
}

/* Each host once, and the chosen ones below the threshold. */
static bool check_hosts(const struct gang_plan *plan, const struct gang_problem *p, bool *seen,
			double *eta)
{
	*eta = 0;
	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t host = plan->order[i];

		if (host >= p->n || seen[host])
			return false;
		seen[host] = true;
		if (i < plan->count && p->min_speedup > 0 && plan->threshold < 1 &&
		    !(p->utilization[host] < plan->threshold))
			return false;
		if (i < plan->count)
			*eta = fmax(*eta, p->utilization[host]);
	}
	return true;
}

static bool check_best(const struct gang_plan *plan, const struct gang_problem *p, double *sorted,
		       char *why, size_t size)
{
	uint32_t prefix = 0;

	for (uint32_t i = 0; i < p->n; i++)
		sorted[i] = p->utilization[i];
	qsort(sorted, p->n, sizeof(*sorted), by_value);
	for (uint32_t k = 1; k <= p->n; k++) {
		double least = seconds_of(p, k, sorted[k - 1]);

		if (p->min_speedup > 0 && plan->threshold < 1 && !(sorted[k - 1] < plan->threshold))
			break;
		if (isnan(least))
			continue;
		if (prefix == plan->nprefixes || plan->counts[prefix] != k ||
		    !close_to(plan->times[prefix++], least))
			return say(why, size, "a prefix has a different time, or is missing");
		if (least < plan->seconds * (1 - 1e-9))
			return say(why, size, "a different number of hosts is faster");
	}
	return prefix == plan->nprefixes || say(why, size, "there are too many prefixes");
}

bool gang_check(const struct gang_plan *plan, const struct gang_problem *p, char *why, size_t size)
{
	bool *seen = calloc(p->n, sizeof(*seen));
	double *sorted = calloc(p->n, sizeof(*sorted)), eta;
	bool good = false;

	if (!seen || !sorted)
		say(why, size, "no memory to check it");
	else if (!check_hosts(plan, p, seen, &eta))
		say(why, size, "a host is chosen twice, or is too busy");
	else if (plan->count && !close_to(plan->seconds, seconds_of(p, plan->count, eta)))
		say(why, size, "the time of its hosts is different");
	else if (plan->speedup > 0 && plan->seconds > 0 &&
		 !close_to(plan->speedup * plan->seconds, seconds_of(p, 1, 0)))
		say(why, size, "its speed-up is different");
	else
		good = check_best(plan, p, sorted, why, size);
	free(seen);
	free(sorted);
	return good;
}
