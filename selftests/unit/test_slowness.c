// SPDX-License-Identifier: GPL-2.0-or-later
/* How slow hosts are: by what programs take alone here, whatever chance does, and until that is no longer so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cost/table.h"
#include "cost/text.h"
#include "random.h"

#define NOW 1700000000
#define HOUR 3600
#define WEEK (7 * 86400)
#define ME 1000
#define OTHER 1001
#define SLOW 1250 /* eh_idle_is_slower() */

static void ran(struct cost_table *t, uint32_t uid, uint64_t name, enum cost_place place,
		uint64_t us, int64_t now)
{
	cost_ran(t, uid, name, place, &(struct cost_run){ .time_us = us }, now);
}

static void compared(struct cost_table *t, const char *host, uint64_t us, int64_t now)
{
	cost_compared(t, ME, 1, host,
		      &(struct cost_run){ .time_us = us, .used = true, .cpu_us = us }, now);
}

/* A host is compared by what runs take alone here: of three, and by three. */
static void test_slowness(void **state)
{
	const struct cost_run waits = { .time_us = 4000000, .used = true, .cpu_us = 249999 };
	struct cost_table *t = cost_new(), *again;
	char why[COST_WHY], *text;

	for (int i = 0; i < COST_FEW; i++) {
		compared(t, "n1", 4000000, NOW); /* not known here */
		cost_transferred(t, ME, "n1", 5000, NOW);
		ran(t, ME, 1, COST_HERE, 9000000, NOW); /* beside others: that says nothing */
		compared(t, "n1", 4000000, NOW);
	}
	for (int i = 0; i < COST_FEW; i++)
		ran(t, ME, 1, COST_ALONE, 1000000, NOW);
	for (int i = 0; i < COST_FEW; i++) {
		cost_compared(t, ME, 1, "n1", &waits, NOW);
		cost_compared(t, ME, 1, "n1", &(struct cost_run){ .time_us = 4000000 }, NOW);
	}
	for (int i = 0; i < COST_FEW; i++) {
		assert_int_equal(cost_slowness(t, ME, "n1", NOW), 0);
		compared(t, "n1", 4000000, NOW);
		compared(t, "n2", 4000000, NOW); /* nothing was transferred there */
	}
	assert_int_equal(cost_slowness(t, ME, "n1", NOW), 4000);
	assert_int_equal(cost_slowness(t, ME, "n2", NOW), 0);
	assert_int_equal(cost_slowness(t, OTHER, "n1", NOW), 0);
	/* more transfers change nothing, and it is kept */
	cost_transferred(t, ME, "n1", 6000, NOW + 1);
	text = cost_write(t);
	again = cost_read(text, why);
	assert_non_null(again);
	assert_int_equal(cost_slowness(again, ME, "n1", NOW + 1), 4000);
	free(text);
	cost_free(again);
	/* it becomes faster; and nothing is known when it is old */
	for (int i = 0; i < 100; i++)
		compared(t, "n1", 1000000, NOW + 2);
	assert_in_range(cost_slowness(t, ME, "n1", NOW + 2), 900, 1010);
	assert_int_equal(cost_slowness(t, ME, "n1", NOW + 20 * WEEK), 0);
	/* whatever is told, it is bounded */
	for (int i = 0; i < 100; i++)
		compared(t, "n1", UINT64_MAX, NOW + 3);
	assert_in_range(cost_slowness(t, ME, "n1", NOW + 3), 50000, 100000);
	cost_free(t);
}

/* A run that takes eight days ends when nothing is left of its transfer: the file is read all the same. */
static void test_long_run(void **state)
{
	struct cost_table *t = cost_new(), *again;
	char why[COST_WHY] = "", *text;

	for (int i = 0; i < COST_FEW; i++)
		ran(t, ME, 1, COST_ALONE, 1000000, NOW + WEEK);
	cost_transferred(t, ME, "n1", 5000, NOW);
	compared(t, "n1", 8 * 86400 * 1000000ull, NOW + WEEK + 86400);
	text = cost_write(t);
	again = cost_read(text, why);
	if (!again)
		fail_msg("its own text is refused: %s", why);
	assert_int_equal(cost_count(again), 1);
	free(text);
	cost_free(again);
	cost_free(t);
}

/* Of mean 2 s, as those of unlike files: a geometric number of slices. */
static uint64_t length(void)
{
	uint64_t us = 0;

	do
		us += 20000;
	while (random_below(100));
	return us;
}

/* One user's first `RUNS` tasks on a host: how many of them it is slow for. */
#define RUNS 200
static unsigned int kept(unsigned int factor)
{
	struct cost_table *t = cost_new();
	unsigned int n = 0;

	for (int i = 0; i < COST_FEW; i++)
		ran(t, ME, 1, COST_ALONE, length(), NOW);
	cost_transferred(t, ME, "n1", 5000, NOW);
	for (int i = 0; i < RUNS; i++) {
		ran(t, ME, 1, COST_ALONE, length(), NOW);
		if (cost_slowness(t, ME, "n1", NOW) >= SLOW)
			n++;
		else
			compared(t, "n1", factor * length(), NOW);
	}
	cost_free(t);
	return n;
}

/* Programs whose runs are of any length make no host slow; one that is slow is found all the same. */
static void test_chance(void **state)
{
	unsigned int same = 0, slow = 0;

	for (int i = 0; i < 500; i++) {
		same += kept(1);
		slow += kept(4);
	}
	printf("# of %u runs each: kept %u from an equal host, %u from one that takes four times as long\n",
	       500 * RUNS, same, slow);
	assert_in_range(same, 0, 500 * RUNS / 25);
	assert_in_range(slow, 500 * RUNS / 2, 500 * RUNS);
}

/* One run there that took ten minutes in place of a second, after many or few. */
static void test_outage(void **state)
{
	for (int before = 1; before < 100; before += 7) {
		struct cost_table *t = cost_new();

		for (int i = 0; i < COST_FEW; i++)
			ran(t, ME, 1, COST_ALONE, 1000000, NOW);
		cost_transferred(t, ME, "n1", 5000, NOW);
		for (int i = 0; i < before; i++)
			compared(t, "n1", 1000000, NOW);
		compared(t, "n1", 600000000, NOW);
		assert_in_range(cost_slowness(t, ME, "n1", NOW), 0, SLOW - 1);
		cost_free(t);
	}
}

/* It was slow, and is not any more: a run an hour finds that out. */
static void test_retries(void **state)
{
	struct cost_table *t = cost_new();
	unsigned int hours = 0;
	int64_t now = NOW;

	assert_false(cost_retries(t, ME, 1, "n1", now));
	for (int i = 0; i < COST_FEW; i++)
		ran(t, ME, 1, COST_ALONE, 1000000, now);
	cost_transferred(t, ME, "n1", 5000, now);
	for (int i = 0; i < 50; i++)
		compared(t, "n1", 4000000, now);
	assert_in_range(cost_slowness(t, ME, "n1", now), 3900, 4000);
	while (cost_slowness(t, ME, "n1", now) >= SLOW) {
		assert_false(cost_retries(t, ME, 1, "n1", now + HOUR - 1));
		now += HOUR;
		assert_false(cost_retries(t, ME, 2, "n1", now)); /* it could not be compared */
		assert_false(cost_retries(t, ME, 1, "n2", now));
		assert_false(cost_retries(t, OTHER, 1, "n1", now));
		assert_true(cost_retries(t, ME, 1, "n1", now));
		assert_false(cost_retries(t, ME, 1, "n1", now)); /* of two that ask at once, one */
		compared(t, "n1", 1000000, now);
		assert_true(++hours < 24);
	}
	printf("# after %u hours\n", hours);
	/* the clock goes back: not for as long as it was put back */
	assert_true(cost_retries(t, ME, 1, "n1", now - WEEK));
	assert_false(cost_retries(t, ME, 1, "n1", now - WEEK));
	cost_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slowness), cmocka_unit_test(test_long_run),
		cmocka_unit_test(test_chance),	 cmocka_unit_test(test_outage),
		cmocka_unit_test(test_retries),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
