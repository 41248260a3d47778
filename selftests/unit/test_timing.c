// SPDX-License-Identifier: GPL-2.0-or-later
/* When the steps of a task were: in order whatever the clocks of the two hosts say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cluster/timing.h"

#define AT 1000000000u /* of home's clock, when the stub begins */

static const enum timing_step way[] = {
	TIMING_STUB,	   TIMING_JOB,	      TIMING_LOOK,	   TIMING_LOOKED,   TIMING_SENT,
	TIMING_CAME,	   TIMING_LOOK_THERE, TIMING_LOOKED_THERE, TIMING_ADMITTED, TIMING_ANSWERED,
	TIMING_LAUNCH,	   TIMING_END,	      TIMING_LAUNCHED,	   TIMING_COMPARED, TIMING_LINKED,
	TIMING_READY_SAID, TIMING_READY,      TIMING_GO,	   TIMING_GO_CAME,  TIMING_EXECUTED,
	TIMING_STARTED,	   TIMING_EXITED,     TIMING_EXIT,	   TIMING_ENDED,    TIMING_OVER,
	TIMING_GONE,
};

#define WAY (sizeof(way) / sizeof(*way))

/* Each step `every` microseconds after the one before, on an executor whose clock shows `other` more. */
static void times(struct timing *home, struct timing *there, uint64_t every, int64_t other)
{
	memset(home, 0, sizeof(*home));
	memset(there, 0, sizeof(*there));
	for (unsigned int i = 0; i < WAY; i++)
		(timing_is_there(way[i]) ? there : home)->us[way[i]] =
			AT + i * every + (timing_is_there(way[i]) ? (uint64_t)other : 0);
}

static void test_two_clocks(void **state)
{
	const int64_t others[] = { 0, 1, -999999000, 1000000, INT64_C(1) << 50 };
	struct timing_line lines[TIMING_STEPS];
	struct timing home, there;
	int64_t within;

	for (unsigned int i = 0; i < sizeof(others) / sizeof(*others); i++) {
		times(&home, &there, 100, others[i]);
		assert_int_equal(timing_lines(&home, &there, lines, &within), WAY);
		assert_in_range(within, 0, 100);
		for (unsigned int n = 0; n < WAY; n++) {
			assert_int_equal(lines[n].step, way[n]);
			assert_in_range(lines[n].us + 100, AT + n * 100, AT + n * 100 + 200);
		}
		/* all at once */
		times(&home, &there, 0, others[i]);
		assert_int_equal(timing_lines(&home, &there, lines, &within), WAY);
		assert_int_equal(within, 0);
		for (unsigned int n = 0; n < WAY; n++)
			assert_int_equal(lines[n].step, way[n]);
	}
}

/* One clock gains a second during the task: what was sent is there later all the same. */
static void test_drift(void **state)
{
	struct timing_line lines[TIMING_STEPS];
	struct timing home, there;
	uint64_t exited = 0, exit = 0;
	int64_t within;
	unsigned int n;

	times(&home, &there, 10, -5000);
	there.us[TIMING_EXITED] += 1000000;
	n = timing_lines(&home, &there, lines, &within);
	assert_int_equal(n, WAY);
	assert_in_range(within, 0, 10);
	for (unsigned int i = 0; i < n; i++) {
		assert_true(!i || lines[i].us >= lines[i - 1].us);
		if (lines[i].step == TIMING_EXITED)
			exited = lines[i].us;
		if (lines[i].step == TIMING_EXIT)
			exit = lines[i].us;
	}
	assert_int_equal(exited, exit);
}

static void test_parts(void **state)
{
	struct timing home, there, none = { { 0 } };
	struct timing_line lines[TIMING_STEPS];
	int64_t within;

	times(&home, &there, 10, 77);
	assert_int_equal(timing_lines(&none, &none, lines, &within), 0);
	assert_int_equal(within, -1);
	assert_in_range(timing_lines(&home, &none, lines, &within), 1, WAY - 1);
	assert_int_equal(within, -1);
	/* the executor alone, by its own clock */
	assert_in_range(timing_lines(&none, &there, lines, &within), 1, WAY - 1);
	assert_int_equal(lines[0].step, TIMING_CAME);
	assert_int_equal(lines[0].us, there.us[TIMING_CAME]);
	/* nothing says when the executor's were */
	none.us[TIMING_JOB] = 5;
	assert_int_equal(timing_lines(&none, &there, lines, &within), 1);
	/* one message only */
	none.us[TIMING_EXIT] = AT;
	assert_true(timing_lines(&none, &there, lines, &within) > 2);
	assert_int_equal(within, -1);
}

static void test_told(void **state)
{
	struct timing t = { { 0 } };

	t.us[TIMING_LINKED] = 100;
	timing_told(&t, TIMING_READY, 0, TIMING_LINKED, 200);
	timing_told(&t, TIMING_READY, 99, TIMING_LINKED, 200);
	timing_told(&t, TIMING_READY, 201, TIMING_LINKED, 200);
	assert_int_equal(t.us[TIMING_READY], 0);
	timing_told(&t, TIMING_READY, 100, TIMING_LINKED, 200);
	assert_int_equal(t.us[TIMING_READY], 100);
}

static void test_json(void **state)
{
	struct timing home, there, back;
	json_t *steps;

	times(&home, &there, 10, 77);
	steps = timing_to_json(&there);
	assert_true(timing_from_json(&back, steps, 1000000));
	for (int i = 0; i < TIMING_STEPS; i++)
		assert_int_equal(back.us[i],
				 there.us[i] ? there.us[i] - there.us[TIMING_CAME] + 1 : 0);
	/* what another node must not say */
	json_object_set_new(steps, "came", json_integer(-1));
	json_object_set_new(steps, "exited", json_integer(1000001));
	json_object_set_new(steps, "gone", json_string("0"));
	json_object_set_new(steps, "stub", json_integer(0));
	assert_true(timing_from_json(&back, steps, 1000000));
	assert_int_equal(back.us[TIMING_CAME], 0);
	assert_int_equal(back.us[TIMING_EXITED], 0);
	assert_int_equal(back.us[TIMING_GONE], 0);
	assert_int_equal(back.us[TIMING_STUB], 0);
	assert_true(back.us[TIMING_ADMITTED] > 0);
	json_decref(steps);
	assert_false(timing_from_json(&back, NULL, 1000000));
	steps = json_array();
	assert_false(timing_from_json(&back, steps, 1000000));
	json_decref(steps);
	for (int i = 0; i < TIMING_STEPS; i++) {
		assert_non_null(timing_text(i));
		assert_non_null(timing_process(i));
		for (int j = 0; j < i; j++)
			assert_string_not_equal(timing_name(i), timing_name(j));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_clocks), cmocka_unit_test(test_drift),
		cmocka_unit_test(test_parts),	   cmocka_unit_test(test_told),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
