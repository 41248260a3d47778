// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The planner assign: its readers, the paper's algorithm and example, searches against all
 * assignments of small random problems (alike and different processors), bounds, the checker.
 */
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

#include "plan/assign/assign.h"
#include "random.h"

static const struct assign_defaults none = { .work = -1, .volume = -1 };

static struct assign_problem *read_text(const char *text, uint32_t processors)
{
	struct assign_defaults defaults = none;
	struct assign_problem *p = NULL;
	struct plan_refusal refusal = { 0 };
	int err;

	defaults.processors = processors;
	if (assign_is_metis(text, strlen(text)))
		err = assign_read_metis(text, strlen(text), &defaults, &p, &refusal);
	else
		err = assign_read_json(text, strlen(text), &defaults, &p, &refusal);
	if (err)
		print_error("%zu %s: %s\n", refusal.line, refusal.where, refusal.what);
	assert_int_equal(err, 0);
	return p;
}

/* Paper 0, section 3.2, as a METIS graph with both weights. */
static const char example[] =
	"8 22 11\n"
	"10 2 7 3 5 4 4 5 4 6 2 7 4 8 2\n12 1 7 3 4 5 2 6 3 7 2\n8 1 5 2 4 4 4 5 2 6 2 8 5\n"
	"10 1 4 3 4 7 3 8 2\n9 1 4 2 2 3 2 6 3 7 2 8 3\n6 1 2 2 3 3 2 5 3 7 4 8 3\n"
	"3 1 4 2 2 4 3 5 2 6 4\n6 1 2 3 5 4 2 5 3 6 3\n";

static void keep_step(void *ctx, uint32_t task, uint32_t processor, const double *f)
{
	double(*steps)[4] = ctx;

	memcpy(steps[task], f, sizeof(*steps));
}

static void test_paper(void **state)
{
	static const double printed[8][4] = { { 10, 0, 0, 0 },	  { 17, 19, 0, 0 },
					      { 22, 23, 17, 0 },  { 26, 23, 21, 18 },
					      { 30, 25, 23, 35 }, { 32, 28, 37, 38 },
					      { 36, 44, 41, 43 }, { 38, 44, 54, 48 } };
	static const uint32_t at[] = { 0, 1, 2, 3, 3, 2, 1, 2 };
	static const double best[] = { 64, 64, 54, 48, 42, 38, 38, 38 };
	struct assign_problem *p = read_text(example, 4);
	struct assign_plan *plan = assign_plan_new(p);
	double steps[8][4];

	assert_int_equal(assign_paper(p, false, plan, keep_step, steps), 0);
	assert_true(plan->total == 54);
	assert_memory_equal(plan->at, at, sizeof(at));
	assert_memory_equal(steps, printed, sizeof(printed));
	assert_int_equal(assign_paper(p, true, plan, NULL, NULL), 0);
	assert_true(plan->total == 51);
	assign_plan_free(plan);
	assign_free(p);
	for (uint32_t processors = 1; processors <= 8; processors++) {
		p = read_text(example, processors);
		plan = assign_plan_new(p);
		assert_true(plan->total == 64);
		assert_int_equal(assign_exact(p, 0, NULL, plan), 1);
		assert_true(plan->total == best[processors - 1] && plan->optimal);
		assert_int_equal(assign_check(p, plan, &(struct plan_refusal){ 0 }), 0);
		assign_plan_free(plan);
		assign_free(p);
	}
}

/* ---- random problems ---- */

struct text {
	char bytes[1 << 19];
	size_t at;
};

static void add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	t->at += vsnprintf(t->bytes + t->at, sizeof(t->bytes) - t->at, format, args);
	va_end(args);
	assert_true(t->at < sizeof(t->bytes));
}

/* Some values are not whole numbers. */
static void add_value(struct text *t, const char *name, uint32_t most, bool whole)
{
	if (whole)
		add(t, ",\"%s\":%u", name, (unsigned int)random_below(most + 1));
	else
		add(t, ",\"%s\":%.3f", name, (double)random_below(1000u * most + 1) / 1000);
}

static void add_machine(struct text *t, uint32_t processors)
{
	uint32_t ways = random_below(3) ? 2 : 0, done = 0;

	add(t, ",\"processors\":[");
	for (uint32_t k = 0; k < processors; k++) {
		/* some are alike */
		add(t, "%s{\"id\":\"n%u\"", k ? "," : "", k);
		if (ways)
			add(t, ",\"speed\":%u", 1 + (unsigned int)random_below(2));
		if (processors > 1)
			add(t, ",\"b\":%.9f", (1 - 0.5 / processors) / processors);
		add(t, "}");
	}
	add(t, "]");
	if (processors > 1)
		add(t, ",\"b0\":%.9f", 0.5 / processors);
	add(t, ",\"links\":[");
	for (uint32_t k = 0; k < processors; k++)
		for (uint32_t j = 0; j < processors; j++)
			if (j != k && !random_below(3))
				add(t, "%s{\"a\":\"n%u\",\"b\":\"n%u\",\"speed\":%u}",
				    done++ ? "," : "", k, j, 1 + (unsigned int)random_below(3));
	add(t, "]");
}

static struct assign_problem *random_problem(uint32_t tasks, uint32_t processors, bool machine)
{
	struct text *t = calloc(1, sizeof(*t));
	uint32_t density = random_below(101), volume = 1 + random_below(30), pairs = 0;
	bool whole = random_below(4);
	struct assign_problem *p;

	add(t, "{\"tasks\":[");
	for (uint32_t u = 0; u < tasks; u++) {
		add(t, "%s{\"id\":%u", u ? "," : "", u);
		add_value(t, "work", 20, whole);
		add(t, "}");
	}
	add(t, "],\"comm\":[");
	for (uint32_t u = 0; u < tasks; u++) {
		for (uint32_t v = 0; v < u; v++) {
			if (random_below(100) >= density)
				continue;
			add(t, "%s{\"a\":%u,\"b\":\"%u\"", pairs++ ? "," : "", u, v);
			add_value(t, "volume", volume, whole);
			add(t, "}");
		}
	}
	add(t, "]");
	if (machine)
		add_machine(t, processors);
	else
		add(t, ",\"processors\":%u", processors);
	add(t, "}");
	p = read_text(t->bytes, 0);
	free(t);
	return p;
}

/* All costs, by the definition. */
static double cost_of(const struct assign_problem *p, const uint32_t *at)
{
	double most = 0;

	for (uint32_t k = 0; k < p->processors; k++) {
		double f = 0;

		for (uint32_t u = 0; u < p->tasks; u++) {
			if (at[u] != k)
				continue;
			f += p->work[u] * (p->machine ? p->machine->compute[k] : 1);
			for (uint32_t e = p->start[u]; e < p->start[u + 1]; e++) {
				uint32_t j = at[p->to[e]];

				if (j != k)
					f += p->volume[e] *
					     (p->machine ? p->machine->talk[k * p->processors + j]
							 : 1);
			}
		}
		most = fmax(most, f);
	}
	return most;
}

static double least_of_all(const struct assign_problem *p)
{
	uint32_t at[16] = { 0 }, u;
	double least = INFINITY;

	do {
		least = fmin(least, cost_of(p, at));
		for (u = 0; u < p->tasks && ++at[u] == p->processors; u++)
			at[u] = 0;
	} while (u < p->tasks);
	return least;
}

static void test_optimal(void **state)
{
	uint32_t rounds = getenv("EHS_ROUNDS") ? atoi(getenv("EHS_ROUNDS")) : 40;

	random_begin();
	for (uint32_t i = 0; i < rounds; i++) {
		uint32_t processors = 1 + random_below(4), tasks = 1 + random_below(7);
		struct assign_problem *p = random_problem(tasks, processors, i & 1);
		double least = least_of_all(p), bound;
		struct plan_refusal wrong = { 0 };

		for (int algorithm = 0; algorithm < 4; algorithm++) {
			struct assign_plan *plan = assign_plan_new(p);
			double alone = plan->total;
			int err;

			if (algorithm < 2)
				err = assign_paper(p, algorithm, plan, NULL, NULL);
			else if (algorithm == 2)
				err = assign_exact(p, 0, NULL, plan) != 1;
			else
				err = assign_best(p, i, NULL, plan);
			assert_int_equal(err, 0);
			assert_int_equal(assign_check(p, plan, &wrong), 0);
			assert_true(fabs(cost_of(p, plan->at) - plan->total) <= 1e-9 * plan->total);
			assert_true(plan->total >= least * (1 - 1e-9));
			if (algorithm >= 2)
				assert_true(plan->total <= least * (1 + 1e-9));
			if (algorithm == 3)
				assert_true(plan->total <= alone && plan->optimal);
			assign_plan_free(plan);
		}
		assert_int_equal(assign_bound(p, &bound), 0);
		assert_true(bound <= least * (1 + 1e-9));
		assign_free(p);
	}
}

/* Where the optimum is not known: no plan is worse than the paper's, and bounds hold. */
static void test_larger(void **state)
{
	for (uint32_t i = 0; i < 3; i++) {
		struct assign_problem *p = random_problem(i ? 15 + random_below(30) : 130,
							  2 + random_below(20), i % 3 == 2);
		struct assign_plan *paper = assign_plan_new(p), *best = assign_plan_new(p);
		struct assign_plan *again = assign_plan_new(p);
		struct plan_refusal wrong = { 0 };
		double alone = best->total;

		assert_int_equal(assign_paper(p, i & 1, paper, NULL, NULL), 0);
		assert_int_equal(assign_best(p, i, NULL, best), 0);
		assert_int_equal(assign_best(p, i, NULL, again), 0);
		assert_int_equal(assign_check(p, paper, &wrong), 0);
		assert_int_equal(assign_check(p, best, &wrong), 0);
		assert_true(best->total <= paper->total && best->total <= alone);
		assert_true(best->lower_bound > 0);
		assert_memory_equal(best->at, again->at, p->tasks * sizeof(*best->at));
		assign_plan_free(paper);
		assign_plan_free(best);
		assign_plan_free(again);
		assign_free(p);
	}
}

static void test_check(void **state)
{
	struct assign_problem *p = read_text(example, 4);
	struct assign_plan *plan = assign_plan_new(p);
	struct plan_refusal wrong = { 0 };

	assert_int_equal(assign_best(p, 1, NULL, plan), 0);
	assert_int_equal(assign_check(p, plan, &wrong), 0);
	plan->total--;
	assert_int_equal(assign_check(p, plan, &wrong), -EINVAL);
	plan->total++;
	plan->talk[1]++;
	assert_int_equal(assign_check(p, plan, &wrong), -EINVAL);
	plan->talk[1]--;
	plan->at[3] = 4;
	assert_int_equal(assign_check(p, plan, &wrong), -EINVAL);
	plan->at[3] = (plan->at[2] + 1) % 4;
	assert_int_equal(assign_check(p, plan, &wrong), -EINVAL);
	assign_evaluate(p, plan);
	plan->lower_bound = plan->total + 1;
	assert_int_equal(assign_check(p, plan, &wrong), -EINVAL);
	plan->lower_bound = plan->total - 1;
	plan->optimal = true;
	assert_int_equal(assign_check(p, plan, &wrong), -EINVAL);
	assert_non_null(strstr(wrong.what, "optimal"));
	plan->optimal = false;
	assert_int_equal(assign_check(p, plan, &wrong), 0);
	assign_plan_free(plan);
	assign_free(p);
}

/* f = B_0*X + sum of B_j*C/S_kj, by hand. */
static void test_machine(void **state)
{
	struct assign_problem *p = read_text(
		"{\"tasks\":[{\"id\":\"a\",\"work\":10},{\"id\":\"b\",\"work\":6}],"
		"\"comm\":[{\"a\":\"a\",\"b\":\"b\",\"volume\":8}],\"b0\":0.2,"
		"\"processors\":[{\"id\":\"x\",\"speed\":2,\"b\":0.3},{\"id\":\"y\",\"b\":0.5}],"
		"\"links\":[{\"a\":\"x\",\"b\":\"y\",\"speed\":4}]}",
		0);
	struct assign_plan *plan = assign_plan_new(p);

	assert_true(plan->at[0] == 0 && fabs(plan->total - 0.1 * 16) < 1e-9);
	plan->at[1] = 1;
	assign_evaluate(p, plan);
	assert_true(fabs(plan->cost[0] - (0.1 * 10 + 0.5 * 8 / 4)) < 1e-9);
	assert_true(fabs(plan->cost[1] - (0.2 * 6 + 0.3 * 8 / 4)) < 1e-9);
	assign_plan_free(plan);
	assign_free(p);
}

/* Sums are exact, whatever the parts. */
static void test_unit(void **state)
{
	struct assign_problem *p =
		read_text("{\"tasks\":[{\"id\":1,\"work\":0.1},{\"id\":2,\"work\":"
			  "0.2},{\"id\":3,\"work\":1e-40}],\"processors\":1}",
			  0);

	assert_true(p->work[0] == rint(p->work[0]) && p->work[2] == 0);
	assert_true(fabs(p->total_work * p->unit - 0.3) < 1e-15);
	assign_free(p);
	p = read_text("{\"tasks\":[{\"id\":1,\"work\":1e100},{\"id\":2,\"work\":1e100}],"
		      "\"processors\":2}",
		      0);
	assert_true(p->total_work <= 0x1p53 && fabs(p->total_work * p->unit / 2e100 - 1) < 1e-15);
	assign_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paper),	cmocka_unit_test(test_optimal),
		cmocka_unit_test(test_larger),	cmocka_unit_test(test_check),
		cmocka_unit_test(test_machine), cmocka_unit_test(test_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
