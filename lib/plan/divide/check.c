// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Is a plan a valid schedule, and does it end when it says? This follows the four rules of
 * docs/planners.md and shares nothing with the code that makes plans.
 */
#include "divide.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

struct check {
	const struct divide_problem *p;
	const struct divide_plan *plan;
	double slack; /* of times, for rounding */
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

/* It takes `seconds` and does not start before `from`. */
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

/* What one processor and the link behind it do. */
struct view {
	uint32_t i;
	const char *name;
	double share;
	const struct divide_span *in, *before; /* data and results that come to it */
	const struct divide_span *compute, *data, *result;
	double arrival; /* of its data; 0 for processor 0 */
};

static struct view look(const struct check *c, uint32_t i)
{
	static const struct divide_span nothing = { 0, 0, -1 };
	struct view v = {
		.i = i,
		.name = plan_names_text(c->p->names, i),
		.share = c->plan->shares[i],
		.in = i ? &c->plan->data[i - 1] : &nothing,
		.before = i ? &c->plan->results[i - 1] : &nothing,
		.compute = &c->plan->compute[i],
		.data = &c->plan->data[i],
		.result = &c->plan->results[i],
	};

	v.arrival = is_there(v.in) ? v.in->finish : 0;
	return v;
}

/* It starts no earlier than `from` and takes as long as a message of its volume over link i. */
static bool is_sent(const struct check *c, const struct view *v, const struct divide_span *message,
		    double from)
{
	return fits(c, message, c->p->s[v->i] + c->p->c[v->i] * message->volume, from);
}

/* Rule 1: the data of all behind a processor leave it in one message once they have come. */
static bool check_data(const struct check *c, const struct view *v, double behind)
{
	if (v->i && v->share > 0 && !is_there(v->in))
		return wrong(c, "no data come to %s", v->name);
	if (is_there(v->data) != (behind > 0) ||
	    (behind > 0 && fabs(v->data->volume - behind) > 1e-9 * c->p->work))
		return wrong(c, "the data that leave %s are not those of all behind it", v->name);
	if (is_there(v->data) && !is_sent(c, v, v->data, v->arrival))
		return wrong(c, "the data that leave %s do so at the wrong time", v->name);
	return true;
}

/* Rule 2: a share is computed in one piece, once the data are there or, with `serial`, sent on. */
static bool check_computing(const struct check *c, const struct view *v)
{
	double from = c->p->serial && is_there(v->data) ? v->data->finish : v->arrival;

	if (is_there(v->compute) != (v->share > 0) ||
	    (v->share > 0 && v->compute->volume != v->share))
		return wrong(c, "%s does not compute its share", v->name);
	if (v->share > 0 && !fits(c, v->compute, c->p->a[v->i] * v->share, from))
		return wrong(c, "%s computes at the wrong time", v->name);
	return true;
}

/* Rule 3: the results of all up to a processor leave it in one message once they are there. The
 * sum of results so far is in `results`. */
static bool check_results(const struct check *c, const struct view *v, double *results)
{
	bool returns = c->p->result != DIVIDE_NONE && v->i && (v->share > 0 || is_there(v->before));

	if (is_there(v->result) != returns)
		return wrong(c, "the shares and the results that leave %s do not agree", v->name);
	if (!returns)
		return true;
	*results += divide_result_of(c->p, v->share);
	if (fabs(v->result->volume - *results) > 1e-9 * *results)
		return wrong(c, "the results that leave %s are not those of all up to it", v->name);
	if (!is_sent(c, v, v->result, is_there(v->before) ? v->before->finish : 0) ||
	    (v->share > 0 && v->result->start < v->compute->finish - c->slack))
		return wrong(c, "the results that leave %s do so at the wrong time", v->name);
	return true;
}

/* Rule 4: a link carries one message at a time. */
static bool check_link(const struct check *c, const struct view *v)
{
	if (is_there(v->data) && is_there(v->result) &&
	    v->result->start < v->data->finish - c->slack &&
	    v->data->start < v->result->finish - c->slack)
		return wrong(c, "data and results use the link behind %s at the same time",
			     v->name);
	return true;
}

/* All data, computing and results, against the rules of docs/planners.md. */
static bool check_rules(const struct check *c)
{
	double left = 0, results = 0;
	uint32_t n = c->p->n;

	for (uint32_t i = 0; i < n; i++)
		left += c->plan->shares[i];
	for (uint32_t i = 0, next = 0; i < n; i++) {
		struct view v = look(c, i);
		double behind;

		/* whether a processor behind has work: not by `left`, which is rounded */
		while (next < n && (next <= i || !(c->plan->shares[next] > 0)))
			next++;
		left -= v.share;
		if (next == n)
			left = 0;
		behind = next < n ? fmax(left, 1e-300) : 0;
		if (!check_data(c, &v, behind) || !check_computing(c, &v) ||
		    !check_results(c, &v, &results) || !check_link(c, &v))
			return false;
	}
	return true;
}

static bool check_end(const struct check *c)
{
	const struct divide_span *home = &c->plan->results[c->p->n - 1];
	double end = is_there(home) ? home->finish : 0;

	for (uint32_t i = 0; i < c->p->n; i++)
		if (is_there(&c->plan->compute[i]))
			end = fmax(end, c->plan->compute[i].finish);
	if (!(fabs(end - c->plan->seconds) <= c->slack))
		return wrong(c, "it ends at %.15g and not at %.15g", end, c->plan->seconds);
	if (!(c->plan->lower_bound <= c->plan->seconds * (1 + 1e-9)))
		return wrong(c, "the lower bound %.15g is above its %.15g", c->plan->lower_bound,
			     c->plan->seconds);
	return true;
}

bool divide_check(const struct divide_plan *plan, const struct divide_problem *problem, char *why,
		  size_t size)
{
	struct check c = { problem, plan, 1e-9 * plan->seconds, why, size };

	return check_shares(&c) && check_rules(&c) && check_end(&c);
}
