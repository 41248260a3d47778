// SPDX-License-Identifier: GPL-2.0-or-later
/* The hosts of one SPMD job: Table 2, comparison with all subsets, refusals. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "plan/gang/gang.h"
#include "random.h"

/* T as the paper writes it, of a set given by its bits; INFINITY where the model has none. */
static double seconds_of(const struct gang_problem *p, unsigned int set)
{
	double count = 0, eta = 0, slow, n = p->size;

	for (uint32_t i = 0; i < p->n; i++)
		if (set >> i & 1) {
			count++;
			eta = fmax(eta, p->utilization[i]);
		}
	slow = gang_slow(p->slowdown, eta);
	if (p->kind == GANG_MATMUL) {
		double root = sqrt(count);

		if (root != floor(root))
			return INFINITY;
		return root * (p->alpha + 4 * p->beta * n * n) +
		       (count > 1 ? root * (root + 1) * (p->alpha + 4 * p->beta * n * n / count)
				  : 0) +
		       count * (p->alpha + 4 * p->beta * n * n / count) +
		       slow * (n * n * n / count * (p->t_mult + p->t_add));
	}
	if (p->kind == GANG_WAVE)
		return 2 * p->steps * (p->alpha + 8 * p->beta) +
		       count * (p->alpha + 8 * p->beta * n / count) +
		       slow * p->steps * (n / count) * (3 * p->t_mult + 4 * p->t_add);
	if (count > p->counts)
		return INFINITY;
	return p->load[(int)count - 1] + p->comm[(int)count - 1] + p->collect[(int)count - 1] +
	       slow * p->compute[(int)count - 1];
}

static void test_subsets(void **state)
{
	double eta[10], table[4][10];

	random_begin();
	for (unsigned int round = 0; round < 1500; round++) {
		struct gang_problem p = { .n = 1 + random_below(10),
					  .utilization = eta,
					  .kind = random_below(3),
					  .slowdown = random_below(2),
					  .alpha = random_between(0, 0.01),
					  .beta = random_between(0, 1e-6),
					  .t_mult = random_between(0, 1e-6),
					  .t_add = random_between(0, 1e-6),
					  .size = 1 + random_below(600),
					  .steps = 1 + random_below(1000),
					  .counts = 1 + random_below(10),
					  .compute = table[0],
					  .comm = table[1],
					  .load = table[2],
					  .collect = table[3] };
		struct gang_plan plan;
		double best = INFINITY;
		char why[200];

		for (unsigned int i = 0; i < 10; i++) {
			/* equal ones, idle ones */
			eta[i] = (double)random_below(20) / 20;
			for (unsigned int k = 0; k < 4; k++)
				table[k][i] = random_between(0, 10);
		}
		for (unsigned int set = 1; set < 1u << p.n; set++)
			best = fmin(best, seconds_of(&p, set));
		assert_int_equal(gang_plan(&plan, &p), 0);
		assert_true(fabs(plan.seconds - best) <= 1e-12 * best);
		assert_true(gang_check(&plan, &p, why, sizeof(why)));
		/* equal ones in the order of the input */
		for (uint32_t i = 1; i < p.n; i++)
			assert_true(eta[plan.order[i - 1]] < eta[plan.order[i]] ||
				    (eta[plan.order[i - 1]] == eta[plan.order[i]] &&
				     plan.order[i - 1] < plan.order[i]));
		/* the checker finds a wrong plan */
		plan.seconds *= 1.001;
		assert_false(gang_check(&plan, &p, why, sizeof(why)));
		plan.seconds /= 1.001;
		if (p.n > 1) {
			plan.order[1] = plan.order[0];
			assert_false(gang_check(&plan, &p, why, sizeof(why)));
		}
		gang_plan_end(&plan);
	}
}

static void test_table_2(void **state)
{
	static const double loads[3][8] = { { .03, .03, .03, .03, .03, .03, .03, .3 },
					    { .03, .03, .03, .03, .03, .03, .3, .6 },
					    { .03, .03, .03, .03, .03, .3, .6, .8 } };
	static const double chosen[] = { 35.77, 38.67, 44.69 }, all[] = { 50.50, 53.63, 56.55 };

	for (unsigned int run = 0; run < 6; run++) {
		double eta[8];
		struct gang_problem p = { .n = 8,
					  .utilization = eta,
					  .kind = GANG_WAVE,
					  .slowdown = run / 3 ? GANG_FAIR : GANG_PAPER,
					  .alpha = 0.00538,
					  .beta = 2.86e-6,
					  .t_mult = 152 / 7e8,
					  .t_add = 152 / 7e8,
					  .size = 100000,
					  .steps = 1000 };
		struct gang_plan plan;

		memcpy(eta, loads[run % 3], sizeof(eta));
		assert_int_equal(gang_plan(&plan, &p), 0);
		assert_int_equal(plan.count, 7 - run % 3);
		assert_true(fabs(plan.seconds / chosen[run % 3] - 1) < 0.02);
		assert_int_equal(plan.nprefixes, 8);
		if (p.slowdown == GANG_FAIR)
			assert_true(fabs(plan.times[7] / all[run % 3] - 1) < 0.1);
		gang_plan_end(&plan);
	}
}

static void test_slow(void **state)
{
	for (int rule = GANG_PAPER; rule <= GANG_FAIR; rule++)
		for (int i = 0; i < 1000; i++)
			assert_true(gang_slow(rule, i / 1000.0) <=
				    gang_slow(rule, (i + 1) / 1000.0));
	assert_true(isinf(gang_slow(GANG_PAPER, 1)));
	assert_true(gang_slow(GANG_FAIR, 1) == 2);
	assert_true(gang_slow(GANG_FAIR, 0) == 1);
}

/* At the threshold all hosts, which are that busy, are just min_speedup times as fast as one. */
static void test_threshold(void **state)
{
	random_begin();
	for (unsigned int round = 0; round < 1000; round++) {
		double eta[9] = { 0 };
		struct gang_problem p = { .n = 2 + random_below(8),
					  .utilization = eta,
					  .kind = GANG_WAVE,
					  .slowdown = random_below(2),
					  .alpha = 1e-5,
					  .beta = 1e-9,
					  .t_mult = 1e-8,
					  .t_add = 1e-8,
					  .size = 100000,
					  .steps = 1000 };
		struct gang_times one, full;
		struct gang_plan plan;
		double rest, slow;
		char why[200];
		int err;

		for (uint32_t i = 0; i < p.n; i++)
			eta[i] = random_between(0, 0.99);
		p.min_speedup = random_between(0.3, 10);
		gang_times(&p, 1, &one);
		gang_times(&p, p.n, &full);
		rest = (one.compute + one.comm + one.collect) / p.min_speedup - full.comm -
		       full.collect - full.load;
		slow = rest / full.compute;
		err = gang_plan(&plan, &p);
		assert_true(err == 0 || err == -ERANGE);
		if (slow < 1)
			assert_true(plan.threshold < 0 && err == -ERANGE);
		else if (p.slowdown == GANG_PAPER)
			assert_true(fabs(plan.threshold - (1 - 1 / slow)) < 1e-9);
		else if (slow >= 2)
			assert_true(plan.threshold == 1);
		else
			assert_true(fabs(gang_slow(GANG_FAIR, plan.threshold) - slow) < 1e-9);
		for (uint32_t i = 0; i < plan.count; i++)
			assert_true(eta[plan.order[i]] < plan.threshold || plan.threshold == 1);
		if (!err) {
			assert_true(plan.speedup >= p.min_speedup);
			assert_true(gang_check(&plan, &p, why, sizeof(why)));
		}
		gang_plan_end(&plan);
	}
}

#define HOST "{\"id\":\"a\",\"utilization\":0.5}"
#define TABLE "\"model\":{\"kind\":\"table\",\"compute\":[1]}"
#define WAVE \
	"\"kind\":\"wave\",\"points\":10,\"steps\":1,\"alpha\":1,\"beta\":1,\"t_mult\":1,\"t_add\":1"

static void test_refusals(void **state)
{
	static const char *const bad[][2] = {
		{ "", "" },
		{ "[]", "$" },
		{ "{}", "$" },
		{ "{\"hosts\":[],\"model\":{}}", "$.model" },
		{ "{\"hosts\":[]," TABLE "}", "$.hosts" },
		{ "{\"hosts\":{}," TABLE "}", "$.hosts" },
		{ "{" TABLE "}", "$" },
		{ "{\"hosts\":[" HOST "," HOST "]," TABLE "}", "$.hosts[1].id" },
		{ "{\"hosts\":[" HOST ",{\"id\":\"b\",\"utilization\":-0.1}]," TABLE "}",
		  "$.hosts[1].utilization" },
		{ "{\"hosts\":[{\"id\":\"b\",\"utilization\":1.1}]," TABLE "}",
		  "$.hosts[0].utilization" },
		{ "{\"hosts\":[{\"id\":\"b\",\"utilization\":\"1\"}]," TABLE "}",
		  "$.hosts[0].utilization" },
		{ "{\"hosts\":[{\"id\":\"\",\"utilization\":0}]," TABLE "}", "$.hosts[0].id" },
		{ "{\"hosts\":[{\"id\":\"b\"}]," TABLE "}", "$.hosts[0]" },
		{ "{\"hosts\":[{\"utilization\":0}]," TABLE "}", "$.hosts[0]" },
		{ "{\"hosts\":[{\"id\":\"b\",\"utilisation\":0}]," TABLE "}", "$.hosts[0]" },
		{ "{\"hosts\":[3]," TABLE "}", "$.hosts[0]" },
		{ "{\"hosts\":[" HOST "]," TABLE ",\"more\":1}", "$" },
		{ "{\"hosts\":[" HOST "],\"model\":{\"kind\":\"sort\"}}", "$.model.kind" },
		{ "{\"hosts\":[" HOST "],\"model\":{\"kind\":\"table\"}}", "$.model" },
		{ "{\"hosts\":[" HOST "],\"model\":{\"kind\":\"table\",\"compute\":[]}}",
		  "$.model.compute" },
		{ "{\"hosts\":[" HOST "],\"model\":{\"kind\":\"table\",\"compute\":[1,null]}}",
		  "$.model.compute[1]" },
		{ "{\"hosts\":[" HOST "],\"model\":{\"kind\":\"table\",\"compute\":[1,-1]}}",
		  "$.model.compute[1]" },
		{ "{\"hosts\":[" HOST
		  "],\"model\":{\"kind\":\"table\",\"compute\":[1],\"comm\":[1,2]}}",
		  "$.model.comm" },
		{ "{\"hosts\":[" HOST "],\"model\":{\"kind\":\"wave\",\"points\":0}}",
		  "$.model.points" },
		{ "{\"hosts\":[" HOST "],\"model\":{\"kind\":\"wave\",\"points\":1.5}}",
		  "$.model.points" },
		{ "{\"hosts\":[" HOST "],\"model\":{" WAVE ",\"n\":1}}", "$.model" },
		{ "{\"hosts\":[" HOST "],\"model\":{\"kind\":\"matmul\",\"n\":10,\"alpha\":1}}",
		  "$.model" },
	};
	struct plan_refusal refusal;
	struct gang_problem p;
	char deep[4000];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(&refusal, 0, sizeof(refusal));
		assert_int_equal(gang_problem_read(&p, bad[i][0], strlen(bad[i][0]), &refusal),
				 -EINVAL);
		assert_true(*refusal.what && (refusal.line || *refusal.where));
		assert_string_equal(refusal.where, bad[i][1]);
		gang_problem_end(&p);
	}
	memset(deep, '[', sizeof(deep));
	assert_int_equal(gang_problem_read(&p, deep, sizeof(deep), &refusal), -EINVAL);
	assert_int_equal(refusal.line, 1);
	gang_problem_end(&p);
	assert_int_equal(gang_problem_read(&p, "{\n\"hosts\":\xff}", 13, &refusal), -EINVAL);
	assert_int_equal(refusal.line, 2);
	gang_problem_end(&p);
}

/* The best is never reached on hosts that never get to it. */
static void test_always_busy(void **state)
{
	double eta[] = { 1, 1 };
	struct gang_problem p = {
		.n = 2, .utilization = eta, .kind = GANG_WAVE, .t_mult = 1, .size = 10, .steps = 1
	};
	struct gang_plan plan;
	char why[200];

	assert_int_equal(gang_plan(&plan, &p), 0);
	assert_true(plan.count == 0 && isinf(plan.seconds) && plan.nprefixes == 2);
	assert_true(gang_check(&plan, &p, why, sizeof(why)));
	gang_plan_end(&plan);
	p.slowdown = GANG_FAIR;
	assert_int_equal(gang_plan(&plan, &p), 0);
	assert_true(plan.count == 2);
	gang_plan_end(&plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_subsets),	 cmocka_unit_test(test_table_2),
		cmocka_unit_test(test_slow),	 cmocka_unit_test(test_threshold),
		cmocka_unit_test(test_refusals), cmocka_unit_test(test_always_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
