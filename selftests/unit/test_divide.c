// SPDX-License-Identifier: GPL-2.0-or-later
/* A divisible load on a ring: the paper's example, against linear programmes of the definition, large rings. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "divide_lp.h"
#include "plan/divide/ring.h"
#include "random.h"

static double uniform(double low, double high)
{
	return low + (high - low) * (double)random_below(1 << 30) / (1 << 30);
}

/* A ring of n, with room for a, s, c behind it. */
static struct divide_problem *ring_new(uint32_t n)
{
	struct divide_problem *p = calloc(1, sizeof(*p) + 3 * n * sizeof(double));
	char name[16];

	assert_non_null(p);
	p->n = n;
	p->work = 100;
	p->a = (double *)(p + 1);
	p->s = p->a + n;
	p->c = p->s + n;
	p->names = plan_names_new();
	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "P%u", i + 1);
		assert_int_equal(plan_names_add(p->names, name), i);
		p->a[i] = 1;
		p->s[i] = 0.5;
		p->c[i] = 0.1;
	}
	return p;
}

static void ring_free(struct divide_problem *p)
{
	plan_names_free(p->names);
	free(p);
}

/* From equal to very unequal, with expensive links too. */
static struct divide_problem *ring_random(uint32_t n)
{
	struct divide_problem *p = ring_new(n);
	double a = uniform(0, 2), s = uniform(0, 3), c = uniform(0, 2);

	p->serial = random_below(2);
	for (uint32_t i = 0; i < n; i++) {
		p->a[i] = pow(10, uniform(-a, a));
		p->s[i] = random_below(4) ? pow(10, uniform(-s, s) - 0.5) : 0;
		p->c[i] = random_below(4) ? pow(10, uniform(-c, c) - 1.5) : 0;
	}
	return p;
}

static void plan_and_check(struct divide_plan *plan, const struct divide_problem *p)
{
	char why[300];

	assert_int_equal(divide_plan(plan, p, NULL), 0);
	if (!divide_check(plan, p, why, sizeof(why)))
		fail_msg("%s", why);
	assert_true(plan->residual <= 1e-9 * p->work);
}

static void test_paper(void **state)
{
	static const double seconds[] = { 33.265165, 37.592045, 35.393977, 39.676149 };
	static const double shares[][4] = { { 33.2652, 26.0917, 21.5274, 19.1158 },
					    { 30.1023, 25.1250, 22.3864, 22.3864 },
					    { 35.3940, 24.2568, 20.7071, 19.6421 },
					    { 32.4179, 23.2755, 21.4560, 22.8506 } };
	struct divide_problem *p = ring_new(4);
	struct divide_plan plan;

	p->m = 0.2;
	for (unsigned int i = 0; i < 4; i++) {
		p->serial = i % 2;
		p->result = i / 2 ? DIVIDE_LINEAR : DIVIDE_NONE;
		plan_and_check(&plan, p);
		assert_true(fabs(plan.seconds - seconds[i]) < 1e-6 && plan.optimal);
		for (unsigned int j = 0; j < 4; j++)
			assert_true(fabs(plan.shares[j] - shares[i][j]) < 1e-4);
		divide_plan_end(&plan);
	}
	ring_free(p);
}

/* All orders of data and results on the links between the first and the last with work. */
static double best_order(struct lp_case *c)
{
	uint32_t first = c->p->n, last = 0, links;
	double best = INFINITY;

	for (uint32_t i = 1; i < c->p->n; i++) {
		if (!c->has[i])
			continue;
		first = first == c->p->n ? i : first;
		last = i;
	}
	links = first < last ? last - first : 0;
	for (unsigned int order = 0; order < 1u << links; order++) {
		for (uint32_t i = 0; i < links; i++)
			c->results_first[first + i] = order >> i & 1;
		best = fmin(best, lp_solve(c));
		if (!c->p->result)
			break;
	}
	return best;
}

/* No schedule of any set of processors is better, in any order of messages, results or not,
 * constant parts or not. */
static void test_all_sets(void **state)
{
	random_begin();
	for (unsigned int round = 0; round < 150; round++) {
		struct divide_problem *p = ring_random(1 + random_below(5));
		struct lp_case c = { .p = p, .has = { true } };
		double best = INFINITY;
		struct divide_plan plan;

		if (random_below(3)) {
			p->result = DIVIDE_LINEAR;
			p->m = pow(10, uniform(-2, 1));
			p->b = random_below(2) ? pow(10, uniform(-2, 1)) : 0;
		}
		for (unsigned int set = 0; set < 1u << (p->n - 1); set++) {
			for (uint32_t i = 1; i < p->n; i++)
				c.has[i] = set >> (i - 1) & 1;
			best = fmin(best, best_order(&c));
		}
		plan_and_check(&plan, p);
		assert_true(plan.optimal);
		if (fabs(plan.seconds / best - 1) > (p->result ? 1e-6 : 1e-8))
			fail_msg("%.12g s, by the linear programmes %.12g", plan.seconds, best);
		divide_plan_end(&plan);
		ring_free(p);
	}
}

/* Two of 20000 random rings, where results go before data. */
static void test_results_first(void **state)
{
	static const struct {
		uint32_t n;
		double m, b, seconds, a[6], s[6], c[6];
	} rings[] = {
		{ 5,
		  1.40379,
		  0.239524,
		  161.883,
		  { 27.7869, 0.0820593, 0.131894, 0.18493, 15.6317 },
		  { 0, 0.429084, 0, 0, 0.72763 },
		  { 0.273724, 0.381813, 1.04256, 0.00138871, 0.0170444 } },
		{ 6,
		  0.550745,
		  0.621699,
		  39.3102,
		  { 0.630281, 1.43285, 0.0591078, 0.411311, 0.0550361, 0.0522183 },
		  { 0.0617493, 0.12269, 0.345651, 0.52162, 0.252681, 0 },
		  { 0.00915156, 0, 0.962739, 0.74642, 0.0679552, 0 } },
	};

	for (unsigned int k = 0; k < 2; k++) {
		struct divide_problem *p = ring_new(rings[k].n);
		struct divide_plan plan;
		bool first = false;

		p->result = DIVIDE_LINEAR;
		p->m = rings[k].m;
		p->b = rings[k].b;
		for (uint32_t i = 0; i < p->n; i++) {
			p->a[i] = rings[k].a[i];
			p->s[i] = rings[k].s[i];
			p->c[i] = rings[k].c[i];
		}
		plan_and_check(&plan, p);
		assert_true(fabs(plan.seconds / rings[k].seconds - 1) < 1e-5 && plan.optimal);
		for (uint32_t i = 1; i < p->n; i++)
			first |= plan.data[i].volume > 0 &&
				 plan.results[i].finish <= plan.data[i].start;
		assert_true(first);
		divide_plan_end(&plan);
		ring_free(p);
	}
}

/* The same for larger rings, where all between the first and the last may have work. */
static void test_all_ranges(void **state)
{
	random_begin();
	for (unsigned int round = 0; round < 12; round++) {
		struct divide_problem *p = ring_random(6 + random_below(7));
		double best = p->work * p->a[0];
		struct divide_plan plan;

		if (random_below(3)) {
			p->result = DIVIDE_LINEAR;
			p->m = pow(10, uniform(-2, 1));
		}
		for (uint32_t first = 1; first < p->n; first++)
			for (uint32_t last = first; last < p->n; last++) {
				struct lp_case c = { .p = p, .has = { true } };

				for (uint32_t i = first; i <= last; i++)
					c.has[i] = true;
				best = fmin(best, lp_solve(&c));
			}
		plan_and_check(&plan, p);
		/* results go first on no link there, which is rarely worse */
		if (plan.seconds / best - 1 > 1e-6)
			fail_msg("%.12g s, by the linear programmes %.12g", plan.seconds, best);
		assert_true(plan.optimal);
		divide_plan_end(&plan);
		ring_free(p);
	}
}

/* The corrected equations of paper 2 where all have work, as work of processor i. */
static double residual(const struct divide_problem *p, const double *w)
{
	long double x = 0, q = 0, most = 0, all = 0, back = 0, behind, first;

	for (uint32_t i = 0; i < p->n; i++)
		all += w[i];
	x = all - w[0];
	first = w[0] * (long double)p->a[0];
	for (uint32_t i = 1; i < p->n; i++) {
		long double left, right;

		behind = x - w[i];
		q += divide_result_of(p, w[i]);
		back += p->s[i] + p->c[i] * q;
		if (i + 1 < p->n && p->result) {
			left = w[i] * (long double)p->a[i] + p->s[i] + p->c[i] * q;
			right = w[i + 1] * (long double)p->a[i + 1] +
				(p->serial ? (i + 2 < p->n ? p->s[i + 1] + p->c[i + 1] * (behind -
											  w[i + 1])
							   : 0)
					   : p->s[i] + p->c[i] * behind);
			most = fmaxl(most, fabsl(left - right) / p->a[i]);
		}
		x = behind;
	}
	if (p->result) {
		x = all - w[0];
		first -= w[1] * (long double)p->a[1] + back;
		first -= p->serial ? (p->n > 2 ? p->s[1] + p->c[1] * (x - w[1]) : 0)
				   : p->s[0] + p->c[0] * x;
		most = fmaxl(most, fabsl(first) / p->a[0]);
	}
	return (double)fmaxl(most, fabsl(all - p->work));
}

static void test_large(void **state)
{
	static const uint32_t sizes[] = { 64, 256, 1000, 10000 };

	random_begin();
	for (unsigned int k = 0; k < 8; k++) {
		struct divide_problem *p = ring_new(sizes[k / 2]);
		struct divide_plan plan;

		p->serial = k % 2;
		p->result = DIVIDE_LINEAR;
		p->m = 0.2;
		for (uint32_t i = 0; i < p->n; i++) {
			p->a[i] = uniform(0.5, 2);
			p->s[i] = uniform(0, 1e-7);
			p->c[i] = uniform(0, 1e-7);
		}
		plan_and_check(&plan, p);
		assert_true(plan.optimal && plan.used == p->n);
		assert_true(residual(p, plan.shares) <= 1e-9 * p->work);
		divide_plan_end(&plan);
		ring_free(p);
	}
	/* without results, where shares shrink to nothing and where they do not */
	for (unsigned int k = 0; k < 8; k++) {
		struct divide_problem *p = ring_new(100000);
		struct divide_plan plan;

		p->serial = k % 2;
		for (uint32_t i = 0; i < p->n; i++) {
			p->a[i] = uniform(0.5, 2);
			p->s[i] = k & 2 ? 0 : uniform(0, 1e-7);
			p->c[i] = uniform(0, k & 4 ? 1e-9 : 0.1);
		}
		plan_and_check(&plan, p);
		assert_true(plan.optimal);
		assert_true(k & 4 ? plan.used > 5000 : plan.used < 20000);
		divide_plan_end(&plan);
		ring_free(p);
	}
}

/* A ring as a box of the search has it: some behind processor 0 may have work, and start-ups of data
 * and results count for different links. */
static void ring_fill(struct divide_ring *r, double *block, bool *flags)
{
	uint32_t n = r->n, first = 1 + random_below(3), last = n - 1 - random_below(3);
	double c = pow(10, uniform(-4, 0)), s = random_below(2) ? c / n : 0, m = uniform(0, 2);
	double b = random_below(2) ? 0.1 / n : 0;

	r->a = block;
	r->c = block + n;
	r->sd = block + 2 * n;
	r->sr = block + 3 * n;
	r->m = block + 4 * n;
	r->b = block + 5 * n;
	r->allowed = flags;
	r->results_first = flags + n;
	for (uint32_t i = 0; i < n; i++) {
		r->a[i] = i ? uniform(0.3, 3) : 1;
		r->c[i] = random_below(4) ? uniform(0, c) : 0;
		r->sd[i] = i < last ? uniform(0, s) : 0;
		r->sr[i] = i >= first ? uniform(0, s) : 0;
		r->m[i] = m * uniform(0.5, 1);
		r->b[i] = b * uniform(0, 1);
		r->allowed[i] = !i || (i >= first && i <= last);
		r->results_first[i] = false;
		r->b[i] = i && r->allowed[i] ? r->b[i] : 0;
	}
}

/* The interior point method against the simplex method. */
static void test_inner(void **state)
{
	unsigned int waits = 0;

	random_begin();
	for (unsigned int round = 0; round < 60; round++) {
		struct divide_ring r = { .n = 8 + random_below(60), .serial = random_below(2) };
		double *block = calloc(8 * (size_t)r.n, sizeof(double));
		struct divide_answer inner = { .w = block + 6 * r.n, .bound = -INFINITY };
		struct divide_answer simplex = { .w = block + 7 * r.n };
		bool *flags = calloc(2 * (size_t)r.n, sizeof(bool));
		struct divide_room room;
		double finish;

		assert_true(block && flags);
		ring_fill(&r, block, flags);
		assert_int_equal(divide_room_begin(&room, r.n), 0);
		divide_direct(&r, &room, &simplex);
		waits += !simplex.exact;
		assert_int_equal(divide_lp(&r, &room, 100000, &simplex), 0);
		assert_int_equal(divide_inner(&r, NULL, &inner), 0);
		assert_true(inner.exact);
		if (fabs(inner.bound / simplex.bound - 1) > 1e-8)
			fail_msg("at least %.12g, by the simplex method %.12g", inner.bound,
				 simplex.bound);
		/* who has no work has no results, which may be faster than the programme */
		finish = divide_finish(&r, inner.w);
		assert_true(finish <= inner.bound * (1 + 2e-9));
		divide_room_end(&room);
		free(flags);
		free(block);
	}
	assert_true(waits > 10);
}

/* Links so expensive that results wait for them in the optimum. */
static void test_dear_links(void **state)
{
	random_begin();
	for (unsigned int k = 0; k < 6; k++) {
		struct divide_problem *p = ring_new(k < 4 ? 1500 : 4000);
		double c = pow(10, uniform(-5, -2));
		struct divide_plan plan;

		p->serial = k % 2;
		p->result = DIVIDE_LINEAR;
		p->m = uniform(0.1, 1);
		for (uint32_t i = 0; i < p->n; i++) {
			p->a[i] = uniform(0.5, 2);
			p->s[i] = 0;
			p->c[i] = uniform(0, c);
		}
		plan_and_check(&plan, p);
		assert_true(plan.optimal);
		divide_plan_end(&plan);
		ring_free(p);
	}
}

/* The finish time of these shares on three processors, straight from the definition. */
static double finish_of_three(const struct divide_problem *p, double w1, double w2)
{
	double w0 = p->work - w1 - w2, x = w1 + w2, q1, q2, came1, came2, sent1, end0, end1, end2;

	q1 = divide_result_of(p, w1);
	q2 = q1 + divide_result_of(p, w2);
	came1 = x > 0 ? p->s[0] + p->c[0] * x : 0;
	end0 = (p->serial ? came1 : 0) + p->a[0] * w0;
	sent1 = came2 = came1 + (w2 > 0 ? p->s[1] + p->c[1] * w2 : 0);
	end1 = (p->serial ? sent1 : came1) + p->a[1] * w1;
	end2 = came2 + p->a[2] * w2;
	if (w1 > 0) {
		end1 = fmax(end1, sent1) + p->s[1] + p->c[1] * q1;
		end2 = fmax(end2, end1);
	}
	if (x > 0)
		end2 += p->s[2] + p->c[2] * q2;
	return fmax(end0, x > 0 ? end2 : 0);
}

static void test_power(void **state)
{
	static const double exponents[] = { 0.5, 1.0 / 3, 1.5, 2, 0, 1 };

	random_begin();
	for (unsigned int round = 0; round < 48; round++) {
		struct divide_problem *p = ring_random(3);
		double best = INFINITY;
		struct divide_plan plan;

		p->result = DIVIDE_POWER;
		p->e = exponents[round % 6];
		p->k = pow(10, uniform(-2, 0)) * pow(p->work, 1 - p->e);
		for (unsigned int i = 0; i <= 200; i++)
			for (unsigned int j = 0; i + j <= 200; j++)
				best = fmin(best, finish_of_three(p, p->work * i / 200,
								  p->work * j / 200));
		plan_and_check(&plan, p);
		assert_true(plan.lower_bound <= best * (1 + 1e-9));
		assert_true(fabs(finish_of_three(p, plan.shares[1], plan.shares[2]) / plan.seconds -
				 1) < 1e-9);
		if (plan.seconds > best * (1 + 1e-6) || !plan.optimal)
			fail_msg("k %g e %g: %.9g s (%soptimal, at least %.9g), on a grid %.9g",
				 p->k, p->e, plan.seconds, plan.optimal ? "" : "not ",
				 plan.lower_bound, best);
		divide_plan_end(&plan);
		ring_free(p);
	}
	/* the equations hold where all have work */
	for (unsigned int round = 0; round < 10; round++) {
		struct divide_problem *p = ring_new(round < 8 ? 12 : 400);
		struct divide_plan plan;

		p->result = DIVIDE_POWER;
		p->serial = round % 2;
		p->e = exponents[round / 2 % 4];
		p->k = 0.1;
		for (uint32_t i = 0; i < p->n; i++) {
			p->s[i] = 1e-4;
			p->c[i] = 1e-5;
		}
		plan_and_check(&plan, p);
		assert_int_equal(plan.used, p->n);
		assert_true(residual(p, plan.shares) <= 1e-9 * p->work);
		divide_plan_end(&plan);
		ring_free(p);
	}
}

/* What the paper prints, row by row; returns the greatest error. */
static double printed_residual(const struct divide_problem *p, const double *w)
{
	uint32_t n = p->n;
	double most = 0, x[16] = { 0 }, q = 0, first = p->a[0] * w[0] - p->a[1] * w[1];

	for (uint32_t i = n; i-- > 0;)
		x[i] = x[i + 1] + w[i];
	for (uint32_t i = 1; i + 1 < n; i++) {
		double e = p->a[i] * w[i] - p->a[i + 1] * w[i + 1];

		q += divide_result_of(p, w[i]);
		if (p->result)
			e -= p->serial ? p->s[i] - p->c[i] * q : p->c[i] * (x[i + 1] - q);
		else if (!p->serial)
			e -= p->s[i] + p->c[i] * x[i + 1];
		else if (i + 2 < n)
			e -= p->s[i + 1] + p->c[i + 1] * x[i + 1];
		most = fmax(most, fabs(e));
	}
	if (!p->serial)
		first -= p->s[0] + p->c[0] * x[1];
	else if (!p->result && n > 2)
		first -= p->s[1] + p->c[1] * x[1];
	for (uint32_t j = 1; p->result && j < n; j++) {
		double links = 0;

		for (uint32_t k = j; k < n; k++)
			links += p->c[k];
		first -= p->s[j] + (p->serial ? divide_result_of(p, w[j]) : w[j] + p->b) * links;
	}
	return fmax(fmax(most, fabs(first)), fabs(x[0] - p->work));
}

static void test_printed(void **state)
{
	unsigned int slower[4] = { 0 }, solved[4] = { 0 };

	random_begin();
	for (unsigned int round = 0; round < 200; round++) {
		struct divide_problem *p = ring_new(2 + random_below(8));
		struct divide_plan printed, best;
		char why[300];
		int err;

		p->serial = round % 2;
		p->result = round / 2 % 2 ? DIVIDE_LINEAR : DIVIDE_NONE;
		p->m = 0.2;
		for (uint32_t i = 0; i < p->n; i++) {
			p->a[i] = uniform(0.8, 1.2);
			p->s[i] = uniform(0, 0.3);
			p->c[i] = uniform(0, 0.05);
		}
		err = divide_printed(&printed, p);
		assert_true(!err || err == -EDOM);
		if (!err) {
			plan_and_check(&best, p);
			assert_true(divide_check(&printed, p, why, sizeof(why)));
			assert_true(printed_residual(p, printed.shares) <= 1e-9 * p->work);
			assert_true(printed.seconds >= best.seconds * (1 - 1e-9));
			solved[round % 4]++;
			slower[round % 4] += printed.seconds > best.seconds * (1 + 1e-6);
			divide_plan_end(&best);
		}
		divide_plan_end(&printed);
		ring_free(p);
	}
	/* the first system is right as printed, if no processor is better left out */
	assert_true(solved[0] > 30 && slower[0] < solved[0] / 2);
	for (unsigned int i = 1; i < 4; i++)
		assert_true(solved[i] > 30 && slower[i] > solved[i] / 2);
}

static void test_check(void **state)
{
	struct divide_problem *p = ring_new(5);
	struct divide_plan plan;
	char why[300];

	p->result = DIVIDE_LINEAR;
	p->m = 0.2;
	plan_and_check(&plan, p);
	assert_int_equal(plan.used, 5);
#define BREAKS(member, by)                                              \
	do {                                                            \
		double was = (member);                                  \
		(member) += (by);                                       \
		assert_false(divide_check(&plan, p, why, sizeof(why))); \
		(member) = was;                                         \
		assert_true(divide_check(&plan, p, why, sizeof(why)));  \
	} while (0)
	for (unsigned int i = 0; i < 5; i++) {
		BREAKS(plan.shares[i], 1e-3);
		BREAKS(plan.shares[i], -200);
		BREAKS(plan.compute[i].start, -1e-3);
		BREAKS(plan.compute[i].finish, -1e-3);
		BREAKS(plan.compute[i].volume, -100);
		if (i < 4)
			BREAKS(plan.data[i].finish, -1e-3);
		if (i < 4)
			BREAKS(plan.data[i].volume, 1e-3);
		if (i)
			BREAKS(plan.results[i].start, -1e-3);
		if (i)
			BREAKS(plan.results[i].volume, 1e-3);
	}
	BREAKS(plan.seconds, 1e-3);
	BREAKS(plan.seconds, -1e-3);
	BREAKS(plan.lower_bound, 1);
	BREAKS(plan.shares[2], NAN);
	divide_plan_end(&plan);
	ring_free(p);
}

static double clock_of_calls(void)
{
	static double calls;

	return ++calls;
}

static void test_time_limit(void **state)
{
	struct divide_problem *p = ring_new(12);
	struct plan_watch watch = { .now = clock_of_calls, .until = 3 };
	struct divide_plan plan, again;
	char why[300];

	p->result = DIVIDE_LINEAR;
	p->m = 0.2;
	p->b = 1;
	assert_int_equal(divide_plan(&plan, p, &watch), 0);
	assert_true(watch.ended && !plan.optimal && divide_check(&plan, p, why, sizeof(why)));
	divide_plan_end(&plan);
	plan_and_check(&plan, p);
	plan_and_check(&again, p);
	assert_memory_equal(plan.shares, again.shares, p->n * sizeof(*plan.shares));
	divide_plan_end(&plan);
	divide_plan_end(&again);
	ring_free(p);
}

#define ONE "{\"id\":\"a\",\"a\":1,\"s\":1,\"c\":1}"

static void test_refusals(void **state)
{
	static const char *const bad[][2] = {
		{ "", "" },
		{ "{\"work\":1}", "$" },
		{ "{\"processors\":[" ONE "]}", "$" },
		{ "{\"work\":1,\"processors\":[]}", "$.processors" },
		{ "{\"work\":0,\"processors\":[" ONE "]}", "$.work" },
		{ "{\"work\":-1,\"processors\":[" ONE "]}", "$.work" },
		{ "{\"work\":1e31,\"processors\":[" ONE "]}", "$.work" },
		{ "{\"work\":1e999,\"processors\":[" ONE "]}", "" },
		{ "{\"work\":NaN,\"processors\":[" ONE "]}", "" },
		{ "{\"work\":1,\"work\":1,\"processors\":[" ONE "]}", "" },
		{ "{\"work\":1,\"processors\":[" ONE "," ONE "]}", "$.processors[1].id" },
		{ "{\"work\":1,\"processors\":[" ONE "],\"sends\":1}", "$" },
		{ "{\"work\":1,\"processors\":[" ONE "],\"send\":\"both\"}", "$.send" },
		{ "{\"work\":1,\"processors\":[" ONE "],\"send\":1}", "$.send" },
		{ "{\"work\":1,\"processors\":[" ONE "],\"result\":1}", "$.result" },
		{ "{\"work\":1,\"processors\":[" ONE "],\"result\":{}}", "$.result" },
		{ "{\"work\":1,\"processors\":[" ONE "],\"result\":{\"kind\":\"log\"}}",
		  "$.result.kind" },
		{ "{\"work\":1,\"processors\":[" ONE "],\"result\":{\"kind\":\"none\",\"m\":1}}",
		  "$.result" },
		{ "{\"work\":1,\"processors\":[" ONE "],\"result\":{\"kind\":\"linear\"}}",
		  "$.result" },
		{ "{\"work\":1,\"processors\":[" ONE
		  "],\"result\":{\"kind\":\"linear\",\"m\":1,\"b\":-1}}",
		  "$.result.b" },
		{ "{\"work\":1,\"processors\":[" ONE
		  "],\"result\":{\"kind\":\"power\",\"k\":1,\"e\":17}}",
		  "$.result.e" },
		{ "{\"work\":1e20,\"processors\":[" ONE
		  "],\"result\":{\"kind\":\"power\",\"k\":1,\"e\":16}}",
		  "$.result" },
		{ "{\"work\":1,\"processors\":[{\"id\":\"a\",\"a\":0,\"s\":1,\"c\":1}]}",
		  "$.processors[0].a" },
		{ "{\"work\":1,\"processors\":[{\"id\":\"a\",\"a\":1,\"s\":-1,\"c\":1}]}",
		  "$.processors[0].s" },
		{ "{\"work\":1,\"processors\":[{\"id\":\"a\",\"a\":1,\"s\":1,\"c\":[]}]}",
		  "$.processors[0].c" },
		{ "{\"work\":1,\"processors\":[{\"id\":\"a\",\"a\":1,\"s\":1}]}",
		  "$.processors[0]" },
		{ "{\"work\":1,\"processors\":[{\"a\":1,\"s\":1,\"c\":1}]}", "$.processors[0]" },
		{ "{\"work\":1,\"processors\":[{\"id\":\"a\\u0001\",\"a\":1,\"s\":1,\"c\":1}]}",
		  "$.processors[0].id" },
		{ "{\"work\":1,\"processors\":[[]]}", "$.processors[0]" },
	};
	struct plan_refusal refusal;
	struct divide_problem p;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(&refusal, 0, sizeof(refusal));
		assert_int_equal(divide_problem_read(&p, bad[i][0], strlen(bad[i][0]), &refusal),
				 -EINVAL);
		assert_true(*refusal.what && (refusal.line || *refusal.where));
		assert_string_equal(refusal.where, bad[i][1]);
		divide_problem_end(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paper),	      cmocka_unit_test(test_all_sets),
		cmocka_unit_test(test_results_first), cmocka_unit_test(test_all_ranges),
		cmocka_unit_test(test_inner),	      cmocka_unit_test(test_dear_links),
		cmocka_unit_test(test_large),	      cmocka_unit_test(test_power),
		cmocka_unit_test(test_printed),	      cmocka_unit_test(test_check),
		cmocka_unit_test(test_time_limit),    cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
