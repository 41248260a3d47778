// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of sessions. */
#include "wire/wish.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void is_cleaned(const char *text, const char *wanted)
{
	char out[SESSION_NAME];

	assert_int_equal(wish_clean(out, text), strlen(wanted));
	assert_string_equal(out, wanted);
}

static void test_name(void **state)
{
	char name[SESSION_NAME];

	wish_name(name, "odd n\xc3\xa4me/..", 7, 0);
	assert_string_equal(name, "odd-n--me---.7.0");
	wish_name(name, "", 7, 3);
	assert_string_equal(name, "s7.3");
	wish_name(name, "0123456789012345678901234567890123456789more", INT32_MAX, UINT32_MAX);
	assert_string_equal(name, "0123456789012345678901234567890123456789.2147483647.4294967295");
}

static void test_clean(void **state)
{
	is_cleaned("build", "build");
	is_cleaned("odd name", "odd-name");
	is_cleaned("v1.2", "v1-2");
	is_cleaned("4.5", "4-5");
	is_cleaned(".5.6", "-5-6");
	is_cleaned("a.b.5", "a-b-5");
	is_cleaned("0123456789012345678901234567890123456789more",
		   "0123456789012345678901234567890123456789");
	is_cleaned("", "");
	is_cleaned(".", "-");
	is_cleaned("linux-6.1.2", "linux-6-1-2");
}

static void is_wish(const char *name, const char *wanted)
{
	char out[SESSION_NAME];

	assert_string_equal(wish_of(out, name), wanted);
}

static void test_wish(void **state)
{
	is_wish("build.5.6", "build");
	is_wish("4-5.5.6", "4-5");
	is_wish("s5.6", "s5");
	is_wish("-", "-");
	is_wish("", "");
	is_wish("5.6", "5");
	is_wish(".5.6", ".5");
	is_wish("x.", "x.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name),
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_wish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
