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
		back = eh_code_child(&t, up, code.index & ((1u << t.n) - 1));
		assert_int_equal(up.level, code.level + 1);
		assert_int_equal(back.level, code.level);
		assert_int_equal(back.index, code.index);
	}
}

/* 000 to 037: over the controllers 00 and 03, one of two ways across, and never over the top. */
static void test_paper_path(void **state)
{
	const struct eh_topology t = { 3, 2 };
	unsigned int by[2] = { 0 };

	for (uint64_t seed = 0; seed < 2000; seed++) {
		struct eh_code path[EH_PATH_MAX];
		char text[5 * EH_CODE_TEXT] = "";

		assert_int_equal(eh_path(&t, (struct eh_code){ 0, 000 }, (struct eh_code){ 0, 037 },
					 seed, path),
				 5);
		for (int i = 0; i < 5; i++) {
			char code[EH_CODE_TEXT];

			strcat(strcat(text, " "), eh_code_format_octal(&t, path[i], code));
		}
		if (!strcmp(text, " 000 00 01 03 037"))
			by[0]++;
		else if (!strcmp(text, " 000 00 02 03 037"))
			by[1]++;
		else
			fail_msg("%s", text);
	}
	/* spread evenly: five sigma */
	assert_true(by[0] > 888 && by[1] > 888);
}

/* Each step is an edge, the length is the least there is at the lowest possible level. */
static void test_paths(void **state)
{
	random_begin();
	for (int i = 0; i < 20000; i++) {
		struct eh_topology t = { 1 + random_below(5), 1 + random_below(4) };
		uint32_t mask = (1u << t.n * t.l) - 1;
		struct eh_code from = { 0, random_64() & mask }, to = { 0, random_64() & mask };
		struct eh_code path[EH_PATH_MAX];
		unsigned int up = 0, top = 0;
		int length;

		if (random_below(2)) /* near each other */
			to.index = from.index ^ (to.index & ((1u << random_below(t.n * t.l)) - 1));
		length = eh_path(&t, from, to, random_64(), path);
		for (uint32_t a = from.index, b = to.index; a >> t.n != b >> t.n;
		     a >>= t.n, b >>= t.n)
			up++;
		assert_int_equal(length,
				 1 + 2 * up +
					 __builtin_popcount((from.index ^ to.index) >> t.n * up));
		assert_memory_equal(&path[0], &from, sizeof(from));
		assert_memory_equal(&path[length - 1], &to, sizeof(to));
		for (int k = 1; k < length; k++) {
			struct eh_code a = path[k - 1], b = path[k], above;
			bool edge = false;

			top = b.level > top ? b.level : top;
			if (a.level == b.level) {
				for (unsigned int bit = 0; bit < t.n; bit++)
					edge |= eh_code_neighbour(a, bit).index == b.index;
			} else {
				above = eh_code_parent(&t, a.level < b.level ? a : b);
				edge = !memcmp(&above, a.level < b.level ? &b : &a, sizeof(above));
			}
			assert_true(edge);
		}
		assert_int_equal(top, up);
	}
}

static void test_bad_paths(void **state)
{
	const struct eh_topology t = { 3, 2 };
	struct eh_code path[EH_PATH_MAX];

	assert_int_equal(eh_path(&t, (struct eh_code){ 0, 64 }, (struct eh_code){ 0, 1 }, 0, path),
			 -EINVAL);
	assert_int_equal(eh_path(&t, (struct eh_code){ 0, 1 }, (struct eh_code){ 0, 64 }, 0, path),
			 -EINVAL);
	assert_int_equal(eh_path(&t, (struct eh_code){ 0, 1 }, (struct eh_code){ 1, 1 }, 0, path),
			 -EINVAL);
	assert_int_equal(eh_path(&t, (struct eh_code){ 3, 0 }, (struct eh_code){ 3, 0 }, 0, path),
			 -EINVAL);
	assert_int_equal(eh_path(&t, (struct eh_code){ 2, 0 }, (struct eh_code){ 2, 0 }, 0, path),
			 1);
	assert_int_equal(eh_path(&t, (struct eh_code){ 1, 2 }, (struct eh_code){ 1, 5 }, 0, path),
			 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_topology),   cmocka_unit_test(test_paper),
		cmocka_unit_test(test_bad_codes),  cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_paper_path), cmocka_unit_test(test_paths),
		cmocka_unit_test(test_bad_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
