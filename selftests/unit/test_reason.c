// SPDX-License-Identifier: GPL-2.0-or-later
/* Names and sentences of reasons. `test_reason --list` is for uapi.py. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "wire/reason.h"

static void test_names(void **state)
{
	for (unsigned int r = 0; r <= EHS_REASON_MAX; r++) {
		enum ehs_reason back = EHS_REASON_MAX;
		const char *text = reason_text(r);

		assert_int_equal(reason_parse(reason_name(r), &back), 0);
		assert_int_equal(back, r);
		if (strlen(text) < 20 || text[strlen(text) - 1] != '.')
			fail_msg("%s has no sentence: \"%s\"", reason_name(r), text);
		for (unsigned int other = 0; other < r; other++)
			assert_string_not_equal(text, reason_text(other));
	}
}

/* Those that the module has no number for. */
static void test_own(void **state)
{
	for (unsigned int r = REASON_OWN; r < REASON_OWN_END; r++) {
		enum ehs_reason back = EHS_REASON_MAX;
		const char *text = reason_text(r);

		assert_string_not_equal(reason_name(r), "unknown");
		assert_int_equal(reason_parse(reason_name(r), &back), 0);
		assert_int_equal(back, r);
		assert_true(strlen(text) >= 20 && text[strlen(text) - 1] == '.');
		assert_false(reason_is_kernels(r));
		for (int remote = 0; remote < 2; remote++) {
			enum ehs_reason told = reason_for_kernel(r, remote);

			assert_true(told <= EHS_REASON_MAX && !reason_is_kernels(told));
		}
	}
	assert_int_equal(reason_for_kernel(REASON_CREDIT, true), EHS_REASON_SENDER);
	assert_int_equal(reason_for_kernel(EHS_REASON_AUTO, true), EHS_REASON_AUTO);
	assert_string_equal(reason_name(REASON_OWN - 1), "unknown");
	assert_string_equal(reason_name(REASON_OWN_END), "unknown");
}

static void test_unknown(void **state)
{
	enum ehs_reason reason = EHS_REASON_LOST;

	assert_string_equal(reason_name(EHS_REASON_MAX + 1), "unknown");
	assert_string_equal(reason_name(~0u), "unknown");
	assert_non_null(strstr(reason_text(~0u), "not known"));
	assert_int_equal(reason_parse("unknown", &reason), -EINVAL);
	assert_int_equal(reason_parse("", &reason), -EINVAL);
	assert_int_equal(reason_parse("Sender", &reason), -EINVAL);
	assert_int_equal(reason, EHS_REASON_LOST);
}

/* The module refuses these in verdicts. */
static void test_kernels(void **state)
{
	static const enum ehs_reason yes[] = { EHS_REASON_NOT_SENDER,	EHS_REASON_REDIRECT,
					       EHS_REASON_NO_NEW_PRIVS, EHS_REASON_MOVED,
					       EHS_REASON_INIT,		EHS_REASON_STAYS };
	static const enum ehs_reason no[] = { EHS_REASON_NONE, EHS_REASON_SENDER,
					      EHS_REASON_NO_MODULE };

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		assert_true(reason_is_kernels(yes[i]));
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_false(reason_is_kernels(no[i]));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_kernels),
	};

	if (argc > 1 && !strcmp(argv[1], "--list")) {
		for (unsigned int r = 0; r <= EHS_REASON_MAX; r++)
			puts(reason_name(r));
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
