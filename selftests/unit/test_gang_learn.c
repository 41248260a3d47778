// SPDX-License-Identifier: GPL-2.0-or-later
/* The time of a job by the number of hosts, from earlier runs. */
#include <math.h>
#include <stdbool.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "plan/gang/learn.h"
#include "random.h"

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-6 * (fabs(a) + fabs(b) + 1);
}

static void test_exact(void **state)
{
	static const struct gang_curve curves[] = { { 40, 0, 0 }, { 40, 3, 0 },	  { 40, 0, 0.5 },
						    { 0, 3, 0 },  { 40, 3, 0.5 }, { 0, 1, 0.25 } };

	for (size_t c = 0; c < sizeof(curves) / sizeof(curves[0]); c++) {
		struct gang_sample s[4];
		struct gang_curve got;

		for (uint32_t i = 0; i < 4; i++)
			s[i] = (struct gang_sample){ 1u << i, gang_curve_at(&curves[c], 1u << i) };
		assert_true(gang_learn(s, 4, &got));
		for (uint32_t p = 1; p <= 16; p++)
			assert_true(near(gang_curve_at(&got, p), gang_curve_at(&curves[c], p)));
	}
}

static void test_few(void **state)
{
	struct gang_sample s[] = { { 8, 8 }, { 4, 13 } }, none[] = { { 8, 0 }, { 4, 1 } };
	struct gang_curve got;

	assert_false(gang_learn(s, 0, &got));
	assert_false(gang_learn(s, 1, &got));
	assert_false(gang_learn(none, 2, &got));
	assert_true(gang_learn(s, 2, &got)); /* 40/P + 3 */
	assert_true(near(got.shared, 40) && near(got.fixed, 3) && near(got.each, 0));
	s[0].seconds = 20; /* slower with more */
	assert_true(gang_learn(s, 2, &got));
	assert_true(gang_curve_at(&got, 8) > gang_curve_at(&got, 4));
}

static void test_noise(void **state)
{
	const struct gang_curve real = { 40, 2, 0.2 };

	random_begin();
	for (int round = 0; round < 1000; round++) {
		struct gang_sample s[6];
		struct gang_curve got;

		for (uint32_t i = 0; i < 6; i++)
			s[i] = (struct gang_sample){
				i + 1, gang_curve_at(&real, i + 1) *
					       (1 + ((double)random_below(2001) / 1000 - 1) * 0.05)
			};
		assert_true(gang_learn(s, 6, &got));
		assert_true(got.shared >= 0 && got.fixed >= 0 && got.each >= 0);
		for (uint32_t p = 1; p <= 6; p++)
			assert_true(fabs(gang_curve_at(&got, p) / gang_curve_at(&real, p) - 1) <
				    0.15);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_noise),
	};

	return cmocka_run_group_tests_name("gang_learn", tests, NULL, NULL);
}
