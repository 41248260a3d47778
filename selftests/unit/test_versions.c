// SPDX-License-Identifier: GPL-2.0-or-later
/* Which version two sides use, what a hello says of it, and what is said when there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#include "cluster/versions.h"

#define MOST 6

static void test_agree(void **state)
{
	uint32_t common, mirrored;

	/* All pairs of ranges: by looking for the highest version that both have. */
	for (uint32_t a = 1; a <= MOST; a++)
		for (uint32_t b = a; b <= MOST; b++)
			for (uint32_t c = 1; c <= MOST; c++)
				for (uint32_t d = c; d <= MOST; d++) {
					const struct versions ours = { a, b }, theirs = { c, d };
					enum versions_fit fit, back;
					uint32_t highest = 0;

					for (uint32_t v = 1; v <= MOST; v++)
						if (v >= a && v <= b && v >= c && v <= d)
							highest = v;
					fit = versions_agree(&ours, &theirs, &common);
					back = versions_agree(&theirs, &ours, &mirrored);
					assert_int_equal(common, highest);
					assert_int_equal(mirrored, highest);
					assert_int_equal(fit, highest ? VERSIONS_FIT
							      : d < a ? VERSIONS_TOO_OLD
								      : VERSIONS_TOO_NEW);
					assert_int_equal(back, highest ? VERSIONS_FIT
							       : b < c ? VERSIONS_TOO_OLD
								       : VERSIONS_TOO_NEW);
				}
}

static void test_no_range(void **state)
{
	const struct versions ours = { 1, 2 },
			      none[] = { { 0, 0 }, { 0, 2 }, { 2, 1 }, { 1, VERSIONS_MAX + 1 } };
	char text[VERSIONS_TEXT];
	uint32_t common = 7;

	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		assert_int_equal(versions_agree(&ours, &none[i], &common), VERSIONS_UNKNOWN);
		assert_int_equal(common, 0);
		assert_non_null(strstr(versions_say(text, "protocol", "n0", &ours, "n1", &none[i]),
				       "n1 does not tell valid versions"));
	}
}

static struct versions of(const char *text)
{
	json_t *o = json_loads(text, 0, NULL);
	struct versions v;

	assert_non_null(o);
	v = versions_of(o);
	json_decref(o);
	return v;
}

static void is(struct versions v, uint32_t min, uint32_t max)
{
	assert_int_equal(v.min, min);
	assert_int_equal(v.max, max);
}

static void test_read(void **state)
{
	/* As an agent of before says it. */
	is(of("{\"cluster\":\"a\",\"version\":1}"), 1, 1);
	is(of("{\"protocol\":{\"min\":2,\"max\":5}}"), 2, 5);
	is(of("{\"protocol\":{\"min\":2,\"max\":2,\"more\":[1]},\"else\":null}"), 2, 2);
	is(of("{\"protocol\":{\"min\":3,\"max\":2}}"), 0, 0);
	is(of("{\"protocol\":{\"min\":1}}"), 0, 0);
	is(of("{\"protocol\":{\"min\":0,\"max\":2}}"), 0, 0);
	is(of("{\"protocol\":{\"min\":1,\"max\":4294967297}}"), 0, 0);
	is(of("{\"protocol\":{\"min\":\"1\",\"max\":2}}"), 0, 0);
	is(of("{\"protocol\":2}"), 0, 0);
	is(of("{\"protocol\":null}"), 0, 0);
}

static void test_written_is_read(void **state)
{
	const struct versions v = { 3, 9 };
	json_t *o = json_object();

	assert_ptr_equal(versions_put(o, &v), o);
	assert_null(versions_put(NULL, &v));
	is(versions_of(o), 3, 9);
	json_decref(o);
	assert_true(VERSIONS_OLDEST >= 1 && VERSIONS_OLDEST <= VERSIONS_NEWEST);
}

static void test_say(void **state)
{
	const struct versions old = { 1, 1 }, now = { 2, 3 };
	char text[VERSIONS_TEXT], name[200];

	assert_string_equal(versions_say(text, "protocol", "n0", &now, "n1", &old),
			    "upgrade n1, which is too old: n1 speaks protocol 1, n0 2 to 3");
	assert_string_equal(versions_say(text, "protocol", "n1", &old, "n0", &now),
			    "upgrade n1, which is too old: n0 speaks protocol 2 to 3, n1 1");
	assert_string_equal(versions_say(text, "protocol", "n1", &old, "n0", &old), "");
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	versions_say(text, "protocol", name, &old, name, &now);
	assert_int_equal(strncmp(text, "upgrade xxx", 11), 0);
	assert_true(strlen(text) < VERSIONS_TEXT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_agree), cmocka_unit_test(test_no_range),
		cmocka_unit_test(test_read),  cmocka_unit_test(test_written_is_read),
		cmocka_unit_test(test_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
