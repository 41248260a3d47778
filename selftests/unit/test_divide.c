// SPDX-License-Identifier: GPL-2.0-or-later
/* A divisible load on a ring: the paper's example, large rings, and what is refused. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "divide_lp.h"
#include "plan/divide/ring.h"
#include "random.h"
#include "rings.h"

static void test_paper(void **state)
{
	static const double seconds[] = { 33.265165, 37.592045, 35.393977, 39.676149 };
	static const double shares[][4] = { { 33.2652, 26.0917, 21.5274, 19.1158 },
					    { 30.1023, 25.1250, 22.3864, 22.3864 },
					    { 35.3940, 24.2568, 20.7071, 19.6421 },
					    { 32.4179, 23.2755, 21.4560, 22.8506 } };
	struct divide_problem *p = rings_new(4);
	struct divide_plan plan;

	p->m = 0.2;
	for (unsigned int i = 0; i < 4; i++) {
		p->serial = i % 2;
		p->result = i / 2 ? DIVIDE_LINEAR : DIVIDE_NONE;
		rings_plan(&plan, p);
		assert_true(fabs(plan.seconds - seconds[i]) < 1e-6 && plan.optimal);
		for (unsigned int j = 0; j < 4; j++)
			assert_true(fabs(plan.shares[j] - shares[i][j]) < 1e-4);
		divide_plan_end(&plan);
	}
	rings_free(p);
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
		struct divide_problem *p = rings_new(sizes[k / 2]);
		struct divide_plan plan;

		p->serial = k % 2;
		p->result = DIVIDE_LINEAR;
		p->m = 0.2;
		for (uint32_t i = 0; i < p->n; i++) {
			p->a[i] = random_between(0.5, 2);
			p->s[i] = random_between(0, 1e-7);
			p->c[i] = random_between(0, 1e-7);
		}
		rings_plan(&plan, p);
		assert_true(plan.optimal && plan.used == p->n);
		assert_true(residual(p, plan.shares) <= 1e-9 * p->work);
		divide_plan_end(&plan);
		rings_free(p);
	}
	/* without results, where shares shrink to nothing and where they do not */
	for (unsigned int k = 0; k < 8; k++) {
		struct divide_problem *p = rings_new(100000);
		struct divide_plan plan;

		p->serial = k % 2;
		for (uint32_t i = 0; i < p->n; i++) {
			p->a[i] = random_between(0.5, 2);
			p->s[i] = k & 2 ? 0 : random_between(0, 1e-7);
			p->c[i] = random_between(0, k & 4 ? 1e-9 : 0.1);
		}
		rings_plan(&plan, p);
		assert_true(plan.optimal);
		assert_true(k & 4 ? plan.used > 5000 : plan.used < 20000);
		divide_plan_end(&plan);
		rings_free(p);
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
		struct divide_problem *p = rings_random(3);
		double best = INFINITY;
		struct divide_plan plan;

		p->result = DIVIDE_POWER;
		p->e = exponents[round % 6];
		p->k = pow(10, random_between(-2, 0)) * pow(p->work, 1 - p->e);
		for (unsigned int i = 0; i <= 200; i++)
			for (unsigned int j = 0; i + j <= 200; j++)
				best = fmin(best, finish_of_three(p, p->work * i / 200,
								  p->work * j / 200));
		rings_plan(&plan, p);
		assert_true(plan.lower_bound <= best * (1 + 1e-9));
		assert_true(fabs(finish_of_three(p, plan.shares[1], plan.shares[2]) / plan.seconds -
				 1) < 1e-9);
		if (plan.seconds > best * (1 + 1e-6) || !plan.optimal)
			fail_msg("k %g e %g: %.9g s (%soptimal, at least %.9g), on a grid %.9g",
				 p->k, p->e, plan.seconds, plan.optimal ? "" : "not ",
				 plan.lower_bound, best);
		divide_plan_end(&plan);
		rings_free(p);
	}
	/* the equations hold where all have work */
	for (unsigned int round = 0; round < 10; round++) {
		struct divide_problem *p = rings_new(round < 8 ? 12 : 400);
		struct divide_plan plan;

		p->result = DIVIDE_POWER;
		p->serial = round % 2;
		p->e = exponents[round / 2 % 4];
		p->k = 0.1;
		for (uint32_t i = 0; i < p->n; i++) {
			p->s[i] = 1e-4;
			p->c[i] = 1e-5;
		}
		rings_plan(&plan, p);
		assert_int_equal(plan.used, p->n);
		assert_true(residual(p, plan.shares) <= 1e-9 * p->work);
		divide_plan_end(&plan);
		rings_free(p);
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
		struct divide_problem *p = rings_new(2 + random_below(8));
		struct divide_plan printed, best;
		char why[300];
		int err;

		p->serial = round % 2;
		p->result = round / 2 % 2 ? DIVIDE_LINEAR : DIVIDE_NONE;
		p->m = 0.2;
		for (uint32_t i = 0; i < p->n; i++) {
			p->a[i] = random_between(0.8, 1.2);
			p->s[i] = random_between(0, 0.3);
			p->c[i] = random_between(0, 0.05);
		}
		err = divide_printed(&printed, p);
		assert_true(!err || err == -EDOM);
		if (!err) {
			rings_plan(&best, p);
			assert_true(divide_check(&printed, p, why, sizeof(why)));
			assert_true(printed_residual(p, printed.shares) <= 1e-9 * p->work);
			assert_true(printed.seconds >= best.seconds * (1 - 1e-9));
			solved[round % 4]++;
			slower[round % 4] += printed.seconds > best.seconds * (1 + 1e-6);
			divide_plan_end(&best);
		}
		divide_plan_end(&printed);
		rings_free(p);
	}
	/* the first system is right as printed, if no processor is better left out */
	assert_true(solved[0] > 30 && slower[0] < solved[0] / 2);
	for (unsigned int i = 1; i < 4; i++)
		assert_true(solved[i] > 30 && slower[i] > solved[i] / 2);
}

static void test_check(void **state)
{
	struct divide_problem *p = rings_new(5);
	struct divide_plan plan;
	char why[300];

	p->result = DIVIDE_LINEAR;
	p->m = 0.2;
	rings_plan(&plan, p);
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
	rings_free(p);
}

static double clock_of_calls(void)
{
	static double calls;

	return ++calls;
}

static void test_time_limit(void **state)
{
	struct divide_problem *p = rings_new(12);
	struct plan_watch watch = { .now = clock_of_calls, .until = 3 };
	struct divide_plan plan, again;
	char why[300];

	p->result = DIVIDE_LINEAR;
	p->m = 0.2;
	p->b = 1;
	assert_int_equal(divide_plan(&plan, p, &watch), 0);
	assert_true(watch.ended && !plan.optimal && divide_check(&plan, p, why, sizeof(why)));
	divide_plan_end(&plan);
	rings_plan(&plan, p);
	rings_plan(&again, p);
	assert_memory_equal(plan.shares, again.shares, p->n * sizeof(*plan.shares));
	divide_plan_end(&plan);
	divide_plan_end(&again);
	rings_free(p);
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
		cmocka_unit_test(test_paper),	 cmocka_unit_test(test_large),
		cmocka_unit_test(test_power),	 cmocka_unit_test(test_printed),
		cmocka_unit_test(test_check),	 cmocka_unit_test(test_time_limit),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
