// SPDX-License-Identifier: GPL-2.0-or-later
/* Codes of EH(n,l): text and back, parents, children. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "eh/topology.h"
#include "random.h"

static void test_topology(void **state)
{
	static const char *const bad[] = { "",	   "3",	   "3,",   ",2",    "3,2,",
					   "3,2 ", " 3,2", "0,1",  "1,0",   "11,1",
					   "1,21", "10,4", "-3,2", "3,-2",  "03,2",
					   "3;2",  "3,2x", "+3,2", "3,0x2", "999999999999,1" };
	struct eh_topology t;

	assert_int_equal(eh_topology_parse("3,2", &t), 0);
	assert_int_equal(t.n, 3);
	assert_int_equal(t.l, 2);
	assert_int_equal(eh_topology_parse("10,3", &t), 0);
	assert_int_equal(eh_topology_parse("1,20", &t), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		t.n = 77;
		if (eh_topology_parse(bad[i], &t) != -EINVAL || t.n != 77)
			fail_msg("\"%s\" was taken", bad[i]);
	}
}

/* The paper's examples, figure 2: the top is 0, controllers 00..07, nodes 000..077. */
static void test_paper(void **state)
{
	const struct eh_topology t = { 3, 2 };
	char text[EH_CODE_TEXT];
	struct eh_code code;

	assert_int_equal(eh_code_parse(&t, "037", &code), 0);
	assert_int_equal(code.level, 0);
	assert_int_equal(code.index, 037);
	assert_string_equal(eh_code_format(&t, code, text), "0.3.7");
	assert_string_equal(eh_code_format_octal(&t, code, text), "037");
	assert_int_equal(eh_code_digit(&t, code), 7);
	code = eh_code_parent(&t, code);
	assert_string_equal(eh_code_format_octal(&t, code, text), "03");
	assert_int_equal(code.level, 1);
	code = eh_code_parent(&t, code);
	assert_string_equal(eh_code_format(&t, code, text), "0");
	code = eh_code_parent(&t, code);
	assert_int_equal(code.level, 2);
}

static void test_bad_codes(void **state)
{
	static const char *const bad[] = { "",
					   "1",
					   ".",
					   "0.",
					   "0..1",
					   "0.8",
					   "0.1.",
					   "0.01",
					   "0.1.2.3",
					   "0.-1",
					   " 0.1",
					   "0.1 ",
					   "0,1",
					   "08",
					   "0377",
					   "0x1",
					   "01.2",
					   "0.1.8",
					   "0.+1",
					   "a",
					   "0.a",
					   "0.4294967297",
					   "00000000000000000000" };
	const struct eh_topology octal = { 3, 2 }, binary = { 1, 3 };
	struct eh_code code = { .index = 77 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (eh_code_parse(&octal, bad[i], &code) != -EINVAL || code.index != 77)
			fail_msg("\"%s\" was taken", bad[i]);
	/* octal is for n=3 only */
	assert_int_equal(eh_code_parse(&binary, "01", &code), -EINVAL);
	assert_int_equal(eh_code_parse(&binary, "0.1", &code), 0);
}

static void test_round_trip(void **state)
{
	random_begin();
	for (int i = 0; i < 20000; i++) {
		struct eh_topology t = { 1 + random_below(EH_N_MAX), 1 };
		char text[EH_CODE_TEXT];
		struct eh_code code, back, up;
		unsigned int most = EH_BITS_MAX / t.n;

		t.l = 1 + random_below(most < EH_LEVELS_MAX ? most : EH_LEVELS_MAX);
		code.level = random_below(t.l + 1);
		code.index = random_64() & ((1ull << t.n * (t.l - code.level)) - 1);
		assert_int_equal(eh_code_parse(&t, eh_code_format(&t, code, text), &back), 0);
		assert_int_equal(back.level, code.level);
		assert_int_equal(back.index, code.index);
		assert_int_equal(eh_code_parse(&t, eh_code_format_octal(&t, code, text), &back), 0);
		assert_int_equal(back.level, code.level);
		assert_int_equal(back.index, code.index);
		if (code.level == t.l)
			continue;
		up = eh_code_parent(&t, code);
		back = eh_code_child(&t, up, eh_code_digit(&t, code));
		assert_int_equal(up.level, code.level + 1);
		assert_int_equal(back.level, code.level);
		assert_int_equal(back.index, code.index);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_topology),
		cmocka_unit_test(test_paper),
		cmocka_unit_test(test_bad_codes),
		cmocka_unit_test(test_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
