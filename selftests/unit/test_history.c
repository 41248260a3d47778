// SPDX-License-Identifier: GPL-2.0-or-later
/* What history is written and asked with: fields of CSV, text of users, points in time. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "wire/clean.h"
#include "history/csv.h"
#include "history/when.h"

static void field(const char *text, const char *wanted)
{
	char out[64];

	assert_int_equal(csv_field(out, sizeof(out), text), strlen(wanted));
	assert_string_equal(out, wanted);
}

static void test_csv(void **state)
{
	char small[4];

	field("", "");
	field("cc1plus", "cc1plus");
	field("a b", "a b");
	field("a,b", "\"a,b\"");
	field("say \"x\"", "\"say \"\"x\"\"\"");
	field("two\nlines", "\"two\nlines\"");
	field("\r", "\"\r\"");
	assert_int_equal(csv_field(small, sizeof(small), "longer"), 6);
	assert_string_equal(small, "lon");
	assert_int_equal(csv_field(NULL, 0, "a,b"), 5);
}

static void test_formula(void **state)
{
	static const char *const formulas[] = { "=1+1", "=cmd|'/c x'!A0", "@SUM(A1)",
						"+1",	"-1+1",		  "\t=1" };
	static const char *const others[] = { "", "cc1plus", "/bin/=x", "a=b", "1-1", "'=1" };

	for (size_t i = 0; i < sizeof(formulas) / sizeof(*formulas); i++)
		assert_true(csv_is_formula(formulas[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(csv_is_formula(others[i]));
}

static void cleaned(const char *text, const char *wanted)
{
	char out[16];

	assert_string_equal(clean_text(out, sizeof(out), text), wanted);
}

static void test_clean(void **state)
{
	const char *words[] = { "cc", "-c", "a b.c", "", NULL }, *none[] = { NULL };
	char out[64], lines[16];

	cleaned("plain", "plain");
	cleaned("\x1b[31m", "?[31m");
	cleaned("a\tb\n\x7f", "a?b??");
	assert_string_equal(clean_lines(lines, sizeof(lines), "a\x1b\n\xc2\x9b\n\nb\xff\n"),
			    "a?\n??\n\nb?\n");
	assert_string_equal(clean_lines(lines, 3, "a\nb\n"), "a\n");
	cleaned("na\xc3\xafve", "na\xc3\xafve");
	cleaned("\xe2\x82\xac \xf0\x9f\x99\x82", "\xe2\x82\xac \xf0\x9f\x99\x82");
	cleaned("\xc2\x9b"
		"31m",
		"??31m"); /* C1's CSI */
	cleaned("\xe2\x80\xae", "???"); /* turns the direction of what follows */
	cleaned("\xff\xfe", "??");
	cleaned("\xc0\xaf", "??"); /* overlong */
	cleaned("\xed\xa0\x80", "???"); /* half of a pair of UTF-16 */
	cleaned("\xe2\x82", "??"); /* cut */
	cleaned("0123456789abcdefgh", "0123456789abcde");
	cleaned("0123456789abc\xe2\x82\xac", "0123456789abc"); /* no half of a character */
	assert_string_equal(clean_words(out, sizeof(out), words), "-c 'a b.c' ''");
	assert_string_equal(clean_words(out, 7, words), "-c 'a ");
	assert_string_equal(clean_words(out, sizeof(out), none), "");
}

static void when(const char *text, time_t wanted)
{
	time_t now = 1700000000, out = 0; /* 2023-11-14 22:13:20 UTC, a Tuesday */

	if (when_parse(text, now, &out))
		fail_msg("%s is refused", text);
	assert_int_equal(out, wanted);
}

static void no_time(const char *text)
{
	time_t out;

	assert_int_equal(when_parse(text, 1700000000, &out), -EINVAL);
}

static void test_when(void **state)
{
	setenv("TZ", "UTC0", 1);
	tzset();
	when("now", 1700000000);
	when("today", 1699920000);
	when("yesterday", 1699920000 - 86400);
	when("30s", 1700000000 - 30);
	when("90m", 1700000000 - 5400);
	when("2h", 1700000000 - 7200);
	when("1w", 1700000000 - 604800);
	when("@12", 12);
	when("12:30", 1699920000 + 45000);
	when("12:30:05", 1699920000 + 45005);
	when("2023-11-14", 1699920000);
	when("2023-11-14 12:30", 1699920000 + 45000);
	when("2023-11-14T12:30:05Z", 1699920000 + 45005);
	setenv("TZ", "CET-1", 1);
	tzset();
	when("2023-11-14 12:30", 1699920000 + 45000 - 3600);
	when("2023-11-14T12:30Z", 1699920000 + 45000);
	when("today", 1699920000 - 3600);
	setenv("TZ", "UTC0", 1);
	tzset();
	no_time("");
	no_time("2");
	no_time("h");
	no_time("2y");
	no_time("-2h");
	no_time("@");
	no_time("@-1");
	no_time("2023-02-30");
	no_time("25:00");
	no_time("2023-11-14x");
	no_time("99999999999999999999d");
	no_time("18446744073709551615w");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_formula),
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_when),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
