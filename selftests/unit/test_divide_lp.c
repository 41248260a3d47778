// SPDX-License-Identifier: GPL-2.0-or-later
/* A divisible load on a ring, against linear programmes of the definition. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "divide_lp.h"
#include "plan/divide/ring.h"
#include "random.h"
#include "rings.h"

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
		struct divide_problem *p = rings_random(1 + random_below(5));
		struct lp_case c = { .p = p, .has = { true } };
		double best = INFINITY;
		struct divide_plan plan;

		if (random_below(3)) {
			p->result = DIVIDE_LINEAR;
			p->m = pow(10, random_between(-2, 1));
			p->b = random_below(2) ? pow(10, random_between(-2, 1)) : 0;
		}
		for (unsigned int set = 0; set < 1u << (p->n - 1); set++) {
			for (uint32_t i = 1; i < p->n; i++)
				c.has[i] = set >> (i - 1) & 1;
			best = fmin(best, best_order(&c));
		}
		rings_plan(&plan, p);
		assert_true(plan.optimal);
		if (fabs(plan.seconds / best - 1) > (p->result ? 1e-6 : 1e-8))
			fail_msg("%.12g s, by the linear programmes %.12g", plan.seconds, best);
		divide_plan_end(&plan);
		rings_free(p);
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
		struct divide_problem *p = rings_new(rings[k].n);
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
		rings_plan(&plan, p);
		assert_true(fabs(plan.seconds / rings[k].seconds - 1) < 1e-5 && plan.optimal);
		for (uint32_t i = 1; i < p->n; i++)
			first |= plan.data[i].volume > 0 &&
				 plan.results[i].finish <= plan.data[i].start;
		assert_true(first);
		divide_plan_end(&plan);
		rings_free(p);
	}
}

/* The same for larger rings, where all between the first and the last may have work. */
static void test_all_ranges(void **state)
{
	random_begin();
	for (unsigned int round = 0; round < 12; round++) {
		struct divide_problem *p = rings_random(6 + random_below(7));
		double best = p->work * p->a[0];
		struct divide_plan plan;

		if (random_below(3)) {
			p->result = DIVIDE_LINEAR;
			p->m = pow(10, random_between(-2, 1));
		}
		for (uint32_t first = 1; first < p->n; first++)
			for (uint32_t last = first; last < p->n; last++) {
				struct lp_case c = { .p = p, .has = { true } };

				for (uint32_t i = first; i <= last; i++)
					c.has[i] = true;
				best = fmin(best, lp_solve(&c));
			}
		rings_plan(&plan, p);
		/* results go first on no link there, which is rarely worse */
		if (plan.seconds / best - 1 > 1e-6)
			fail_msg("%.12g s, by the linear programmes %.12g", plan.seconds, best);
		assert_true(plan.optimal);
		divide_plan_end(&plan);
		rings_free(p);
	}
}

/* A ring as a box of the search has it: some behind processor 0 may have work, and start-ups of data
 * and results count for different links. */
static void ring_fill(struct divide_ring *r, double *block, bool *flags)
{
	uint32_t n = r->n, first = 1 + random_below(3), last = n - 1 - random_below(3);
	double c = pow(10, random_between(-4, 0)), s = random_below(2) ? c / n : 0,
	       m = random_between(0, 2);
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
		r->a[i] = i ? random_between(0.3, 3) : 1;
		r->c[i] = random_below(4) ? random_between(0, c) : 0;
		r->sd[i] = i < last ? random_between(0, s) : 0;
		r->sr[i] = i >= first ? random_between(0, s) : 0;
		r->m[i] = m * random_between(0.5, 1);
		r->b[i] = b * random_between(0, 1);
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
		struct divide_problem *p = rings_new(k < 4 ? 1500 : 4000);
		double c = pow(10, random_between(-5, -2));
		struct divide_plan plan;

		p->serial = k % 2;
		p->result = DIVIDE_LINEAR;
		p->m = random_between(0.1, 1);
		for (uint32_t i = 0; i < p->n; i++) {
			p->a[i] = random_between(0.5, 2);
			p->s[i] = 0;
			p->c[i] = random_between(0, c);
		}
		rings_plan(&plan, p);
		assert_true(plan.optimal);
		divide_plan_end(&plan);
		rings_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_sets),   cmocka_unit_test(test_results_first),
		cmocka_unit_test(test_all_ranges), cmocka_unit_test(test_inner),
		cmocka_unit_test(test_dear_links),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
