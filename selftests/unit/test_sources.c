// SPDX-License-Identifier: GPL-2.0-or-later
/* How often a source may connect: who floods waits, and nobody else; members never wait for strangers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cluster/address.h"
#include "net/sources.h"

static struct sources sources;

static uint64_t source(const char *text)
{
	struct address a;

	assert_int_equal(address_parse(text, &a), 0);
	return address_source(&a);
}

/* How many of `n` tries at this time succeed. */
static unsigned int takes(uint64_t key, uint64_t now, unsigned int n)
{
	unsigned int taken = 0;

	while (n--)
		taken += sources_take(&sources, key, now);
	return taken;
}

static void members(const uint64_t *keys, size_t n)
{
	struct sources_bucket *all = calloc(n + 1, sizeof(*all));

	assert_non_null(all);
	for (size_t i = 0; i < n; i++)
		all[i].key = keys[i];
	sources_set_members(&sources, all, n);
}

static int set_up(void **state)
{
	sources_init(&sources, 0x9e3779b97f4a7c15);
	return 0;
}

static int tear_down(void **state)
{
	sources_exit(&sources);
	return 0;
}

static void test_source(void **state)
{
	assert_int_equal(source("10.0.0.1:1"), source("10.0.0.1:2"));
	assert_int_not_equal(source("10.0.0.1:1"), source("10.0.0.2:1"));
	assert_int_equal(source("[2001:db8:1:2::1]:1"), source("[2001:db8:1:2:ffff::9]:7"));
	assert_int_not_equal(source("[2001:db8:1:2::1]:1"), source("[2001:db8:1:3::1]:1"));
	/* as a listener for both sees them */
	assert_int_equal(source("[::ffff:10.0.0.1]:1"), source("10.0.0.1:1"));
	assert_int_not_equal(source("[::ffff:10.0.0.1]:1"), source("[::ffff:10.0.0.2]:1"));
	assert_int_not_equal(source("[::1]:1"), source("[::ffff:0.0.0.0]:1"));
}

static void test_flood(void **state)
{
	uint64_t a = source("10.0.0.1:1"), b = source("10.0.0.2:1"), now = 5000;
	unsigned int taken;

	assert_int_equal(takes(a, now, 10000), SOURCES_BURST);
	now += 10000;
	taken = takes(a, now, 10000);
	assert_int_equal(taken, SOURCES_BURST);
	for (taken = 0; now < 25000; now++)
		taken += takes(a, now, 20);
	assert_in_range(taken, 10 * SOURCES_RATE - 1, 10 * SOURCES_RATE + 1);
	/* another one does not wait */
	assert_int_equal(takes(b, now, 20), 20);
	assert_in_range(takes(a, now, 20), 0, 1);
}

static void test_many_strangers(void **state)
{
	uint64_t m = source("10.0.0.1:1"), now = 5000;
	unsigned int taken = 0;

	members(&m, 1);
	for (uint32_t round = 0; round < 10; round++, now += 1000)
		for (uint32_t i = 0; i < 100000; i++)
			taken += sources_take(&sources, 0x20010db800000000 + i, now);
	assert_in_range(taken, 9 * SOURCES_STRANGE, 10 * SOURCES_STRANGE + SOURCES_BURST);
	/* a member is another matter, and has all that is its own */
	assert_int_equal(takes(m, now - 1000, 10000), SOURCES_BURST);
	/* when it is over, a stranger is let in */
	assert_int_equal(takes(source("10.0.0.9:1"), now + 2000, 10), 10);
}

static void test_members_change(void **state)
{
	uint64_t keys[] = { source("10.0.0.3:1"), source("10.0.0.1:1"), source("10.0.0.3:2") };
	uint64_t now = 5000;

	members(keys, 3);
	assert_int_equal(sources.count, 2);
	assert_int_equal(takes(keys[0], now, 1000), SOURCES_BURST);
	/* a new roster gives nobody more */
	members(keys, 3);
	assert_int_equal(takes(keys[0], now, 1000), 0);
	assert_int_equal(takes(keys[1], now, 1000), SOURCES_BURST);
	members(NULL, 0);
	assert_int_equal(takes(keys[1], now, 10), 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_source, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_flood, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many_strangers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_members_change, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
