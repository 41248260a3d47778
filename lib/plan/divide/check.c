// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Is a plan a valid schedule, and does it end when it says? From the definition in
 * docs/planners.md alone: nothing here is shared with what makes plans.
 */
#include "divide.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

struct check {
	const struct divide_problem *p;
	const struct divide_plan *plan;
	double slack; /* of times: rounding */
	char *why;
	size_t size;
};

static bool wrong(const struct check *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static bool wrong(const struct check *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(c->why, c->size, format, args);
	va_end(args);
	return false;
}

static bool is_there(const struct divide_span *span)
{
	return span->volume >= 0;
}

/* It takes `seconds`, and does not begin before `from`. */
static bool fits(const struct check *c, const struct divide_span *span, double seconds, double from)
{
	return fabs(span->finish - span->start - seconds) <= c->slack &&
	       span->start >= from - c->slack;
}

static bool check_shares(const struct check *c)
{
	double all = 0;

	for (uint32_t i = 0; i < c->p->n; i++) {
		if (!(c->plan->shares[i] >= 0) || !isfinite(c->plan->shares[i]))
			return wrong(c, "the share of %s is %g", plan_names_text(c->p->names, i),
				     c->plan->shares[i]);
		all += c->plan->shares[i];
	}
	if (fabs(all - c->p->work) > 1e-9 * c->p->work)
		return wrong(c, "the shares are %.15g together, the work is %.15g", all,
			     c->p->work);
	return true;
}

static bool check_processor(const struct check *c, uint32_t i, double behind, double *results)
{
	static const struct divide_span nothing = { 0, 0, -1 };
	const char *name = plan_names_text(c->p->names, i);
	const struct divide_span *compute = &c->plan->compute[i], *data = &c->plan->data[i];
	const struct divide_span *result = &c->plan->results[i];
	const struct divide_span *in = i ? &c->plan->data[i - 1] : &nothing;
	const struct divide_span *before = i ? &c->plan->results[i - 1] : &nothing;
	double share = c->plan->shares[i], volume_slack = 1e-9 * c->p->work, arrival = 0;
	bool returns = c->p->result != DIVIDE_NONE && i && (share > 0 || is_there(before));

	if (i && share > 0 && !is_there(in))
		return wrong(c, "no data come to %s", name);
	if (is_there(in))
		arrival = in->finish;
	if (is_there(data) != (behind > 0) ||
	    (behind > 0 && fabs(data->volume - behind) > volume_slack))
		return wrong(c, "the data that leave %s are not those of all behind it", name);
	if (is_there(data) && !fits(c, data, c->p->s[i] + c->p->c[i] * data->volume, arrival))
		return wrong(c, "the data that leave %s do so at no right time", name);
	if (is_there(compute) != (share > 0) || (share > 0 && compute->volume != share))
		return wrong(c, "%s does not compute its share", name);
	if (share > 0 && !fits(c, compute, c->p->a[i] * share,
			       c->p->serial && is_there(data) ? data->finish : arrival))
		return wrong(c, "%s computes at no right time", name);
	if (is_there(result) != returns)
		return wrong(c, "results leave %s, or do not, against the shares", name);
	if (!returns)
		return true;
	*results += divide_result_of(c->p, share);
	if (fabs(result->volume - *results) > 1e-9 * *results)
		return wrong(c, "the results that leave %s are not those of all before", name);
	if (!fits(c, result, c->p->s[i] + c->p->c[i] * result->volume,
		  is_there(before) ? before->finish : 0) ||
	    (share > 0 && result->start < compute->finish - c->slack))
		return wrong(c, "the results that leave %s do so at no right time", name);
	if (is_there(data) && result->start < data->finish - c->slack &&
	    data->start < result->finish - c->slack)
		return wrong(c, "data and results use the link behind %s at once", name);
	return true;
}

bool divide_check(const struct divide_plan *plan, const struct divide_problem *problem, char *why,
		  size_t size)
{
	struct check c = { problem, plan, 1e-9 * plan->seconds, why, size };
	double left = 0, results = 0, end = 0;

	if (!check_shares(&c))
		return false;
	for (uint32_t i = 0; i < problem->n; i++)
		left += plan->shares[i];
	for (uint32_t i = 0, last = 0; i < problem->n; i++) {
		/* not by rounding: something is behind when somebody there has work */
		while (last < problem->n && (last <= i || !(plan->shares[last] > 0)))
			last++;
		left -= plan->shares[i];
		if (last == problem->n)
			left = 0;
		if (!check_processor(&c, i, last < problem->n ? fmax(left, 1e-300) : 0, &results))
			return false;
		if (is_there(&plan->compute[i]))
			end = fmax(end, plan->compute[i].finish);
	}
	if (is_there(&plan->results[problem->n - 1]))
		end = fmax(end, plan->results[problem->n - 1].finish);
	if (!(fabs(end - plan->seconds) <= c.slack))
		return wrong(&c, "it ends at %.15g and not at %.15g", end, plan->seconds);
	if (!(plan->lower_bound <= plan->seconds * (1 + 1e-9)))
		return wrong(&c, "the lower bound %.15g is above its %.15g", plan->lower_bound,
			     plan->seconds);
	return true;
}
