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

#define HOSTS 8

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

/* What a plan predicts for `count` of `hosts` hosts that are all used so much. */
static double predict(const struct gang_sample *s, size_t n, enum gang_slowdown slowdown,
		      uint32_t count, double utilization)
{
	double seconds[HOSTS], used[HOSTS];
	struct gang_problem p = { .n = HOSTS,
				  .utilization = used,
				  .kind = GANG_TABLE,
				  .slowdown = slowdown,
				  .counts = HOSTS,
				  .compute = seconds };
	struct gang_plan plan;
	double predicted;

	for (int i = 0; i < HOSTS; i++)
		used[i] = utilization;
	assert_true(gang_learn_table(s, n, HOSTS, seconds));
	assert_int_equal(gang_plan(&plan, &p), 0);
	predicted = plan.times[count - 1];
	gang_plan_end(&plan);
	return predicted;
}

/* The same run again and again, on a number of hosts of which others are known, or not. */
static void test_again(void **state)
{
	static const double used[] = { 0, 0.05, 0.2, 0.5, 0.98, 0.99 };
	static const double others[][2] = { { 0.8, 0.65 }, { 0.4, 0.4 }, { 9, 4 }, { 0.1, 5 } };
	enum { KINDS = 2, USED = sizeof(used) / sizeof(used[0]) };

	for (int i = 0; i < KINDS * USED * HOSTS * 4 * 3; i++) {
		enum gang_slowdown slowdown = i % KINDS ? GANG_PAPER : GANG_FAIR;
		double utilization = used[i / KINDS % USED], real = 0.5;
		uint32_t count = i / KINDS / USED % HOSTS + 1;
		const double *other = others[i / KINDS / USED / HOSTS % 4];
		size_t n = i / KINDS / USED / HOSTS / 4;
		struct gang_sample s[3] = { { count % HOSTS + 1, other[0] },
					    { (count + 3) % HOSTS + 1, other[1] } };

		/* as the file of durations has it: half of the last, half of what was known */
		s[n].count = count;
		for (int run = 0; run < 8; run++) {
			double idle = gang_learn_idle(slowdown, real, utilization);

			s[n].seconds = run ? (s[n].seconds + idle) / 2 : 2 * idle;
		}
		assert_true(fabs(predict(s, n + 1, slowdown, count, utilization) / real - 1) < 0.1);
	}
}

static void test_table(void **state)
{
	struct gang_sample s[] = { { 4, 13 }, { 8, 8 } };
	double seconds[HOSTS];

	assert_false(gang_learn_table(s, 0, HOSTS, seconds));
	assert_true(gang_learn_table(s, 1, HOSTS, seconds)); /* one: as long on any number */
	assert_true(near(seconds[0], 13) && near(seconds[HOSTS - 1], 13));
	assert_true(gang_learn_table(s, 2, HOSTS, seconds)); /* 40/P + 3 */
	for (uint32_t p = 1; p <= HOSTS; p++)
		assert_true(near(seconds[p - 1], 40.0 / p + 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact), cmocka_unit_test(test_few),
		cmocka_unit_test(test_noise), cmocka_unit_test(test_again),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests_name("gang_learn", tests, NULL, NULL);
}
