// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of load_math.h. */

#include <kunit/test.h>

#include "load_math.h"
#include "test.h"

/* A load in thousandths as a smoothed value. */
static s64 ehs_smoothed(u64 load)
{
	return load << EHS_LOAD_FRACTION;
}

static void ehs_load_rounds(struct kunit *test)
{
	s64 half = (1LL << EHS_LOAD_FRACTION) / 2;

	KUNIT_EXPECT_EQ(test, ehs_load_round(0), 0U);
	KUNIT_EXPECT_EQ(test, ehs_load_round(half - 1), 0U);
	KUNIT_EXPECT_EQ(test, ehs_load_round(half), 1U);
	KUNIT_EXPECT_EQ(test, ehs_load_round(EHS_LOAD_TASK), 1000U);
	KUNIT_EXPECT_EQ(test, ehs_load_round(ehs_smoothed(U32_MAX)), U32_MAX);
	KUNIT_EXPECT_EQ(test, ehs_load_round(ehs_smoothed(U32_MAX) + half), U32_MAX);
}

static void ehs_load_weighs(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ehs_load_weigh(0, 1000), 0U);
	KUNIT_EXPECT_EQ(test, ehs_load_weigh(3, 1000), 3000U);
	KUNIT_EXPECT_EQ(test, ehs_load_weigh(4294, 1000000), 4294000000U);
	KUNIT_EXPECT_EQ(test, ehs_load_weigh(4295, 1000000), U32_MAX);
}

/* "a step is followed to 94 % in 6 samples" */
static void ehs_load_follows_step(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ehs_load_round(ehs_load_smooth(0, EHS_LOAD_TASK, 1)), 375U);
	KUNIT_EXPECT_EQ(test, ehs_load_round(ehs_load_smooth(0, EHS_LOAD_TASK, 6)), 940U);
	KUNIT_EXPECT_EQ(test, ehs_load_round(ehs_load_smooth(EHS_LOAD_TASK, 0, 6)), 60U);
	KUNIT_EXPECT_EQ(test, ehs_load_smooth(EHS_LOAD_TASK, 0, 0), EHS_LOAD_TASK);
}

/* From above and from below, and a constant load stays what it is. */
static void ehs_load_reaches_target(struct kunit *test)
{
	static const u32 loads[] = { 0, 1, 999, 1000, 1001, 64000, 12345678 };
	s64 end, target;
	int i;

	for (i = 0; i < ARRAY_SIZE(loads); i++) {
		target = ehs_smoothed(loads[i]);
		KUNIT_EXPECT_EQ(test, ehs_load_smooth(target, target, 1000), target);
		end = ehs_load_smooth(0, target, EHS_LOAD_FADED);
		KUNIT_EXPECT_EQ(test, ehs_load_round(end), loads[i]);
		end = ehs_load_smooth(target + EHS_LOAD_TASK, target, EHS_LOAD_FADED);
		KUNIT_EXPECT_EQ(test, ehs_load_round(end), loads[i]);
		KUNIT_EXPECT_GE(test, end, target);
	}
}

/*
 * A task that starts adds itself to the smoothed value. A task that then runs
 * is not counted twice, and one that sleeps leaves nothing behind when it ends.
 */
static void ehs_load_counts_start_once(struct kunit *test)
{
	s64 other = ehs_smoothed(2500), smoothed;
	u32 samples;

	for (samples = 0; samples <= 2 * EHS_LOAD_FADED; samples++) {
		smoothed = ehs_load_smooth(other + EHS_LOAD_TASK, other + EHS_LOAD_TASK, samples);
		KUNIT_EXPECT_EQ(test, ehs_load_round(smoothed), 3500U);
		smoothed = ehs_load_smooth(other + EHS_LOAD_TASK, other, samples);
		KUNIT_EXPECT_EQ(test, ehs_load_round(smoothed - ehs_load_left(samples)), 2500U);
	}
}

static void ehs_load_start_fades(struct kunit *test)
{
	u32 samples;

	KUNIT_EXPECT_EQ(test, ehs_load_left(0), EHS_LOAD_TASK);
	for (samples = 1; samples < EHS_LOAD_FADED; samples++)
		KUNIT_EXPECT_LE(test, ehs_load_left(samples), ehs_load_left(samples - 1));
	KUNIT_EXPECT_EQ(test, ehs_load_round(ehs_load_left(EHS_LOAD_FADED - 1)), 0U);
	KUNIT_EXPECT_EQ(test, ehs_load_left(EHS_LOAD_FADED), 0LL);
	/* the record is older than the tick counter can tell */
	KUNIT_EXPECT_EQ(test, ehs_load_left(U32_MAX), 0LL);
}

static void ehs_load_samples_of_time(struct kunit *test)
{
	u64 ms = NSEC_PER_MSEC, sample = EHS_LOAD_SAMPLE_MS * ms;

	KUNIT_EXPECT_EQ(test, ehs_load_samples(1), 0U);
	KUNIT_EXPECT_EQ(test, ehs_load_samples(sample / 2 - 1), 0U);
	KUNIT_EXPECT_EQ(test, ehs_load_samples(sample / 2), 1U);
	KUNIT_EXPECT_EQ(test, ehs_load_samples(sample), 1U);
	KUNIT_EXPECT_EQ(test, ehs_load_samples(10 * sample), 10U);
	/* after a suspend of a year */
	KUNIT_EXPECT_EQ(test, ehs_load_samples(365 * 86400000ULL * ms), (u32)EHS_LOAD_FADED);
}

static void ehs_load_busy_processors(struct kunit *test)
{
	u64 second = NSEC_PER_SEC;

	KUNIT_EXPECT_EQ(test, ehs_load_busy(0, second, 4), 0U);
	KUNIT_EXPECT_EQ(test, ehs_load_busy(second / 2, second, 4), 500U);
	KUNIT_EXPECT_EQ(test, ehs_load_busy(4 * second, second, 4), 4000U);
	/* never more than there are, though a processor's clock is read late */
	KUNIT_EXPECT_EQ(test, ehs_load_busy(5 * second, second, 4), 4000U);
	KUNIT_EXPECT_EQ(test, ehs_load_busy(5 * second, 1, 4), 4000U);
	/* a thousand processors busy for a day */
	KUNIT_EXPECT_EQ(test, ehs_load_busy(86400000 * second, 86400 * second, 1024), 1000000U);
}

/* Up to the longest interval a walk takes 1/200 of a processor; a longer walk takes more. */
static void ehs_load_interval(struct kunit *test)
{
	const u32 longest = EHS_LOAD_SAMPLE_MS * EHS_LOAD_LATE;
	u64 us = NSEC_PER_USEC;

	KUNIT_EXPECT_EQ(test, ehs_load_interval_ms(0), (u32)EHS_LOAD_SAMPLE_MS);
	KUNIT_EXPECT_EQ(test, ehs_load_interval_ms(160 * us), 32U);
	KUNIT_EXPECT_EQ(test, ehs_load_interval_ms(500 * us), 100U);
	KUNIT_EXPECT_EQ(test, ehs_load_interval_ms(1600 * us), longest);
	KUNIT_EXPECT_EQ(test, ehs_load_interval_ms(16000 * us), longest);
}

static struct kunit_case ehs_load_cases[] = {
	KUNIT_CASE(ehs_load_rounds),
	KUNIT_CASE(ehs_load_weighs),
	KUNIT_CASE(ehs_load_follows_step),
	KUNIT_CASE(ehs_load_reaches_target),
	KUNIT_CASE(ehs_load_counts_start_once),
	KUNIT_CASE(ehs_load_start_fades),
	KUNIT_CASE(ehs_load_samples_of_time),
	KUNIT_CASE(ehs_load_busy_processors),
	KUNIT_CASE(ehs_load_interval),
	{}
};

struct kunit_suite ehs_load_suite = {
	.name = "ehsched_load",
	.test_cases = ehs_load_cases,
};
