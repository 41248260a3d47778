// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The assign planner without memory: each allocation fails in turn; readers and searches return
 * -ENOMEM, and a plan that was made before stays valid. Linked with --wrap for the allocators.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "plan/assign/assign.h"
#include "oom.h"

static char text[1 << 16];

/* A ring with chords, large enough for every search. */
static void write_graph(uint32_t tasks)
{
	size_t at = snprintf(text, sizeof(text), "%u %u\n", tasks, 2 * tasks);

	for (uint32_t u = 0; u < tasks; u++)
		at += snprintf(text + at, sizeof(text) - at, "%u %u %u %u\n", (u + 1) % tasks + 1,
			       (u + tasks - 1) % tasks + 1, (u + 7) % tasks + 1,
			       (u + tasks - 7) % tasks + 1);
	assert_true(at < sizeof(text));
}

static void write_json(uint32_t tasks, bool machine)
{
	size_t at = snprintf(text, sizeof(text), "{\"tasks\":[");

	for (uint32_t u = 0; u < tasks; u++)
		at += snprintf(text + at, sizeof(text) - at, "%s{\"id\":%u,\"work\":%u}",
			       u ? "," : "", u, u % 5);
	at += snprintf(text + at, sizeof(text) - at, "],\"comm\":[");
	for (uint32_t u = 1; u < tasks; u++)
		at += snprintf(text + at, sizeof(text) - at, "%s{\"a\":%u,\"b\":%u,\"volume\":%u}",
			       u > 1 ? "," : "", u, u / 2, u % 3);
	at += snprintf(text + at, sizeof(text) - at,
		       machine ? "],\"processors\":[{\"id\":\"x\",\"speed\":2},{\"id\":\"y\"}],"
				 "\"links\":[{\"a\":\"x\",\"b\":\"y\",\"speed\":3}]}"
			       : "],\"processors\":3}");
	assert_true(at < sizeof(text));
}

static int read_text(struct assign_problem **p, struct plan_refusal *refusal)
{
	static const struct assign_defaults defaults = { .work = -1, .volume = -1 };
	static const struct assign_defaults graph = { .processors = 3, .work = -1, .volume = -1 };

	*p = NULL;
	if (assign_is_metis(text, strlen(text)))
		return assign_read_metis(text, strlen(text), &graph, p, refusal);
	return assign_read_json(text, strlen(text), &defaults, p, refusal);
}

/* Jansson reports its own lack of memory as a text it cannot read. */
static void fail_readers(void)
{
	struct assign_problem *p;
	int failures = 0;

	for (int nth = 1;; nth++) {
		struct plan_refusal refusal = { 0 };
		int err;

		oom_until = nth;
		err = read_text(&p, &refusal);
		if (oom_until) {
			oom_until = 0;
			assert_int_equal(err, 0);
			assign_free(p);
			break;
		}
		assert_true(err == -ENOMEM || (err == -EINVAL && *refusal.what));
		assert_null(p);
		failures++;
	}
	assert_true(failures >= 8);
}

static int search(const struct assign_problem *p, int which, struct assign_plan *plan)
{
	double bound;

	switch (which) {
	case 0:
		return assign_paper(p, true, plan, NULL, NULL);
	case 1:
		return assign_exact(p, 20, NULL, plan);
	case 2:
		return assign_bound(p, &bound);
	default:
		return assign_best(p, 1, NULL, plan);
	}
}

static void fail_searches(uint32_t most)
{
	struct plan_refusal refusal = { 0 };
	struct assign_problem *p;

	assert_int_equal(read_text(&p, &refusal), 0);
	for (int which = 0; which < 4; which++) {
		int failures = 0;

		for (uint32_t nth = 1; nth <= most; nth++) {
			struct assign_plan *plan = assign_plan_new(p);
			double total = plan->total;
			int err;

			oom_until = nth;
			err = search(p, which, plan);
			if (oom_until) {
				oom_until = 0;
				assign_plan_free(plan);
				assert_true(err >= 0);
				break;
			}
			assert_int_equal(err, -ENOMEM);
			failures++;
			/* a plan that was found before is whole; the paper's rule starts without one */
			if (which) {
				assert_int_equal(assign_check(p, plan, &refusal), 0);
				assert_true(plan->total <= total);
			}
			assign_plan_free(plan);
		}
		assert_true(failures >= 1);
	}
	oom_until = 1;
	assert_null(assign_plan_new(p));
	oom_until = 0;
	assign_free(p);
}

static void test_graph(void **state)
{
	write_graph(120);
	fail_readers();
	fail_searches(60);
}

static void test_json(void **state)
{
	write_json(9, false);
	fail_readers();
	fail_searches(60);
	write_json(9, true);
	fail_readers();
	fail_searches(60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_graph),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
