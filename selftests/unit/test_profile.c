// SPDX-License-Identifier: GPL-2.0-or-later
/* Profiles of ranks, and the problem of placing them on hosts. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "plan/assign/profile.h"

static const char good[] =
	"{\"version\": 1, \"ranks\": [{\"host\": \"a\", \"work\": 1}, {\"work\": 2}, {\"work\": 3}],"
	" \"messages\": [{\"a\": 0, \"b\": 1, \"count\": 10, \"bytes\": 1000},"
	" {\"a\": 0, \"b\": 2, \"count\": 20, \"bytes\": 2000}]}";

static struct assign_problem *problem_of(const struct assign_profile *p,
					 const struct assign_hosts *hosts, double extra)
{
	const struct assign_defaults none = { .work = -1, .volume = -1 };
	json_t *document = assign_profile_problem(p, hosts, extra);
	char *text = json_dumps(document, JSON_REAL_PRECISION(17));
	struct assign_problem *problem = NULL;
	struct plan_refusal refusal = { 0 };

	assert_non_null(text);
	assert_int_equal(assign_read_json(text, strlen(text), &none, &problem, &refusal), 0);
	free(text);
	json_decref(document);
	return problem;
}

static double cost_at(const struct assign_problem *problem, const uint32_t *at, uint32_t host)
{
	struct assign_plan *plan = assign_plan_new(problem);
	double cost;

	memcpy(plan->at, at, problem->tasks * sizeof(*at));
	assign_evaluate(problem, plan);
	cost = plan->cost[host] * problem->unit;
	assign_plan_free(plan);
	return cost;
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b) + 1);
}

/* All messages have 100 bytes: what is cut costs what they take on each link. */
static void test_seconds(void **state)
{
	const char *const names[] = { "x", "y", "z" };
	struct assign_link links[9] = {
		[1] = { 0.1, 0.001 }, [2] = { 0.2, 0.003 }, [5] = { 0.5, 0.0001 }
	};
	const struct assign_hosts hosts = { names, 3, 2, links };
	struct assign_profile p;
	struct plan_refusal refusal;
	struct assign_problem *problem;
	const uint32_t spread[] = { 0, 1, 2 }, pair[] = { 2, 2, 1 }, even[] = { 0, 1, 2 },
		       heap[] = { 1, 1, 1 };

	assert_int_equal(assign_profile_read(good, strlen(good), &p, &refusal), 0);
	assert_int_equal(p.ranks, 3);
	assert_true(near(p.messages, 30) && near(p.bytes, 3000));
	problem = problem_of(&p, &hosts, 0);
	assert_int_equal(problem->tasks, 3);
	/* two slots: half of the work */
	assert_true(near(cost_at(problem, spread, 0),
			 0.5 + 10 * 0.1 + 1000 * 0.001 + 20 * 0.2 + 2000 * 0.003));
	assert_true(near(cost_at(problem, spread, 1), 1 + 10 * 0.1 + 1000 * 0.001));
	assert_true(near(cost_at(problem, pair, 1), 1.5 + 20 * 0.5 + 2000 * 0.0001));
	assign_free(problem);
	problem = problem_of(&p, &hosts, 100);
	assert_true(cost_at(problem, even, 0) < cost_at(problem, heap, 1));
	assert_true(near(cost_at(problem, heap, 1), 300 + 3));
	assign_free(problem);
	assign_profile_end(&p);
}

/* Three ranks on two hosts: a task without work of its own is the fourth. */
static void test_filled(void **state)
{
	const char *const names[] = { "x", "y" };
	struct assign_link links[4] = { [1] = { 0.1, 0.001 } };
	struct assign_profile p;
	struct plan_refusal refusal;
	struct assign_problem *problem;

	assert_int_equal(assign_profile_read(good, strlen(good), &p, &refusal), 0);
	problem = problem_of(&p, &(struct assign_hosts){ names, 2, 2, links }, 0);
	assert_int_equal(problem->tasks, 4);
	assert_true(near(problem->total_work * problem->unit, 6));
	assign_free(problem);
	assign_profile_end(&p);
}

static void test_refused(void **state)
{
	static const char *const bad[][2] = {
		{ "", "" },
		{ "[]", "$" },
		{ "{\"version\":1,\"ranks\":[{\"work\":1}]}", "$" },
		{ "{\"version\":1,\"ranks\":[],\"messages\":[]}", "$.ranks" },
		{ "{\"version\":1,\"ranks\":[{}],\"messages\":[]}", "$.ranks[0]" },
		{ "{\"version\":1,\"ranks\":[{\"work\":1,\"x\":1}],\"messages\":[]}",
		  "$.ranks[0]" },
		{ "{\"version\":1,\"ranks\":[{\"work\":1}],\"messages\":[{\"a\":0,\"b\":1,\"count\":1,"
		  "\"bytes\":1}]}",
		  "$.messages[0].b" },
		{ "{\"version\":1,\"ranks\":[{\"work\":1},{\"work\":1}],\"messages\":[{\"a\":0,\"b\":1,"
		  "\"count\":-1,\"bytes\":1}]}",
		  "$.messages[0].count" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct plan_refusal refusal = { 0 };
		struct assign_profile p;

		assert_int_equal(assign_profile_read(bad[i][0], strlen(bad[i][0]), &p, &refusal),
				 -EINVAL);
		assert_string_equal(refusal.where, bad[i][1]);
		assert_null(p.work);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seconds),
		cmocka_unit_test(test_filled),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
