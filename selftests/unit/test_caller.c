// SPDX-License-Identifier: GPL-2.0-or-later
/* What home's agent knows of a caller: what goes in comes out, and nothing malformed is taken. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "random.h"
#include "wire/caller.h"
#include "wire/frame.h"

static struct caller random_caller(uint32_t ngroups)
{
	struct caller c = { .uid = random_below(UINT32_MAX),
			    .gid = random_below(UINT32_MAX),
			    .loginuid = JOB_LOGINUID_UNSET,
			    .nice = (int32_t)random_below(40) - 20,
			    .no_new_privs = random_below(2),
			    .ngroups = ngroups,
			    .groups = calloc(ngroups + 1, sizeof(uint32_t)) };

	assert_non_null(c.groups);
	for (int i = 0; i < JOB_RLIMITS; i++)
		c.hard[i] = random_below(3) ? random_below(UINT32_MAX) : UINT64_MAX;
	for (int i = 0; i < JOB_TRAITS; i++)
		c.traits[i] = random_below(UINT32_MAX);
	for (uint32_t i = 0; i < ngroups; i++)
		c.groups[i] = random_below(UINT32_MAX);
	return c;
}

static void same(const struct caller *a, const struct caller *b)
{
	assert_int_equal(a->uid, b->uid);
	assert_int_equal(a->gid, b->gid);
	assert_int_equal(a->loginuid, b->loginuid);
	assert_int_equal(a->nice, b->nice);
	assert_int_equal(a->no_new_privs, b->no_new_privs);
	assert_memory_equal(a->hard, b->hard, sizeof(a->hard));
	assert_memory_equal(a->traits, b->traits, sizeof(a->traits));
	assert_int_equal(a->ngroups, b->ngroups);
	if (a->ngroups)
		assert_memory_equal(a->groups, b->groups, a->ngroups * sizeof(uint32_t));
}

static void test_both_ways(void **state)
{
	random_begin();
	for (int round = 0; round < 300; round++) {
		struct caller in = random_caller(round % 4 ? random_below(9) : 0), out;
		const size_t size = caller_size(&in);
		uint8_t *bytes = calloc(1, size + 9);

		assert_non_null(bytes);
		caller_encode(&in, bytes);
		/* What is behind it a newer version has added. */
		assert_int_equal(caller_decode(&out, bytes, size + random_below(10)), 0);
		same(&in, &out);
		caller_free(&out);
		for (size_t n = 0; n < size; n++) {
			uint8_t *cut = malloc(n + 1);

			assert_non_null(cut);
			memcpy(cut, bytes, n);
			assert_int_equal(caller_decode(&out, cut, n), -EBADMSG);
			free(cut);
		}
		free(bytes);
		caller_free(&in);
	}
}

static void test_largest(void **state)
{
	struct caller in = random_caller(JOB_GROUPS_MAX), out;
	uint8_t *bytes = malloc(caller_size(&in));

	assert_non_null(bytes);
	assert_true(caller_size(&in) <= frame_limit(FRAME_CALLER));
	caller_encode(&in, bytes);
	assert_int_equal(caller_decode(&out, bytes, caller_size(&in)), 0);
	same(&in, &out);
	caller_free(&out);
	free(bytes);
	caller_free(&in);
}

static void test_malformed(void **state)
{
	struct caller in = random_caller(2), out;
	const size_t size = caller_size(&in);
	uint8_t bytes[4096];
	const struct {
		size_t at;
		uint32_t value;
	} bad[] = {
		{ 12, 20 }, { 12, (uint32_t)-21 },	{ 16, 2 },
		{ 20, 3 },  { 20, JOB_GROUPS_MAX + 1 }, { 20, UINT32_MAX },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		caller_encode(&in, bytes);
		frame_put_u32(bytes + bad[i].at, bad[i].value);
		assert_int_equal(caller_decode(&out, bytes, size), -EBADMSG);
	}
	caller_free(&in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ways),
		cmocka_unit_test(test_largest),
		cmocka_unit_test(test_malformed),
	};

	return cmocka_run_group_tests_name("caller", tests, NULL, NULL);
}
