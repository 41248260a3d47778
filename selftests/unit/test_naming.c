// SPDX-License-Identifier: GPL-2.0-or-later
/* Words that people type: which host, and which word was meant. */
#include "cluster/naming.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cluster/address.h"

static void test_hosts(void **state)
{
	assert_int_equal(naming_of("n1", "n1"), NAMING_FULL);
	assert_int_equal(naming_of("N1.example.org", "n1.Example.ORG"), NAMING_FULL);
	assert_int_equal(naming_of("n1.example.org", "n1"), NAMING_PART);
	assert_int_equal(naming_of("n1.example.org", "n1.example"), NAMING_PART);
	assert_int_equal(naming_of("n1.example.org", "n1.ex"), NAMING_NOT);
	assert_int_equal(naming_of("n10", "n1"), NAMING_NOT);
	assert_int_equal(naming_of("n1", "n10"), NAMING_NOT);
	assert_int_equal(naming_of("n1", ""), NAMING_NOT);
}

static bool is(const char *text, const char *address)
{
	struct address a;

	assert_int_equal(address_parse(address, &a), 0);
	return address_is(&a, text);
}

static void test_addresses(void **state)
{
	const char *v4 = "10.0.0.1:7411", *v6 = "[fd00::1]:7411";

	assert_true(is("10.0.0.1", v4));
	assert_false(is("10.0.0.10", v4));
	assert_false(is("10.0.0.1:7411", v4));
	assert_false(is("10.0.0.1", v6));
	assert_true(is("fd00::1", v6));
	assert_true(is("[fd00::1]", v6));
	assert_true(is("FD00:0::0:1", v6));
	assert_false(is("fd00::2", v6));
	assert_false(is("fd00::1", v4));
	assert_false(is("0000000000000000000000000000000000000000000000000000000000000000", v4));
}

static void test_distance(void **state)
{
	char a[200], b[200];

	assert_int_equal(naming_distance("", ""), 0);
	assert_int_equal(naming_distance("abc", ""), 3);
	assert_int_equal(naming_distance("", "abc"), 3);
	assert_int_equal(naming_distance("status", "status"), 0);
	assert_int_equal(naming_distance("status", "STATUS"), 0);
	assert_int_equal(naming_distance("stauts", "status"), 1);
	assert_int_equal(naming_distance("kitten", "sitting"), 3);
	assert_int_equal(naming_distance("ca", "abc"), 3);
	/* bounded, whatever is typed */
	memset(a, 'a', sizeof(a) - 1);
	memset(b, 'b', sizeof(b) - 1);
	a[sizeof(a) - 1] = b[sizeof(b) - 1] = '\0';
	assert_int_equal(naming_distance(a, b), 63);
	assert_int_equal(naming_distance(a, a), 0);
}

static const char *nearest(const char *wanted, ...)
{
	struct naming_nearest n = { .wanted = wanted };
	const char *word;
	va_list words;

	va_start(words, wanted);
	while ((word = va_arg(words, const char *)))
		naming_try(&n, word);
	va_end(words);
	return n.best;
}

static void test_nearest(void **state)
{
	assert_string_equal(nearest("stauts", "set", "status", "tasks", NULL), "status");
	assert_string_equal(nearest("stat", "set", "status", NULL), "status");
	assert_string_equal(nearest("undran", "drain", "undrain", NULL), "undrain");
	assert_string_equal(nearest("buidl2", "build1", "build2", NULL), "build2");
	assert_string_equal(nearest("n4", "gpu", "n1", NULL), "n1");
	assert_null(nearest("frobnicate", "status", "tree", "drain", NULL));
	assert_null(nearest("x", "a", "b", NULL));
	assert_null(nearest("", "a", NULL));
	assert_null(nearest("n1", NULL));
	/* the first of equals */
	assert_string_equal(nearest("n9", "n1", "n2", NULL), "n1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_distance),
		cmocka_unit_test(test_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
