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

static void ehs_load_parts(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ehs_load_part(0, 0), 0U);
	KUNIT_EXPECT_EQ(test, ehs_load_part(0, NSEC_PER_SEC), 0U);
	KUNIT_EXPECT_EQ(test, ehs_load_part(NSEC_PER_SEC / 2, NSEC_PER_SEC), 512U);
	KUNIT_EXPECT_EQ(test, ehs_load_part(NSEC_PER_SEC, NSEC_PER_SEC), 1024U);
	/* clocks are read one after the other; and a moment has no parts */
	KUNIT_EXPECT_EQ(test, ehs_load_part(NSEC_PER_SEC + 1000, NSEC_PER_SEC), 1024U);
	KUNIT_EXPECT_EQ(test, ehs_load_part(1, 1), 1U);
	KUNIT_EXPECT_EQ(test, ehs_load_part(U64_MAX, U64_MAX), 1024U);
	KUNIT_EXPECT_EQ(test, ehs_load_part(U64_MAX, 1), 1024U);
}

/* As the agent counts them, too (eh_credit_tasks()). */
static void ehs_load_has_tasks(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ehs_load_tasks(0), 0U);
	KUNIT_EXPECT_EQ(test, ehs_load_tasks(499), 0U);
	KUNIT_EXPECT_EQ(test, ehs_load_tasks(500), 1U);
	KUNIT_EXPECT_EQ(test, ehs_load_tasks(1499), 1U);
	KUNIT_EXPECT_EQ(test, ehs_load_tasks(U32_MAX), 4294967U);
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

/* Of a value that is older than the smoothing knows, nothing is left. */
static void ehs_load_late_sample_replaces(struct kunit *test)
{
	s64 target = ehs_smoothed(3000), before = ehs_smoothed(U32_MAX);
	u64 ms = NSEC_PER_MSEC;

	KUNIT_EXPECT_EQ(test, ehs_load_smooth(before, target, EHS_LOAD_FADED), target);
	KUNIT_EXPECT_EQ(test, ehs_load_smooth(0, target, EHS_LOAD_FADED), target);
	/* and what a start has added is gone with it */
	KUNIT_EXPECT_EQ(test, ehs_load_left(ehs_load_samples(20000 * ms)), 0LL);
	KUNIT_EXPECT_EQ(test, ehs_load_smooth(before, target, ehs_load_samples(20000 * ms)),
			target);
	/* half a second: some 16 samples at once */
	KUNIT_EXPECT_EQ(test, ehs_load_samples(500 * ms), 16U);
	KUNIT_EXPECT_EQ(test, ehs_load_round(ehs_load_smooth(0, target, 16)), 2998U);
}

static void ehs_load_processor_worked(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ehs_load_worked(0, 0), 0ULL);
	KUNIT_EXPECT_EQ(test, ehs_load_worked(5, 12), 7ULL);
	KUNIT_EXPECT_EQ(test, ehs_load_worked(12, 5), 0ULL);
}

static void ehs_load_earns(struct kunit *test)
{
	u64 ms = NSEC_PER_MSEC;

	KUNIT_EXPECT_EQ(test, ehs_load_earn(0, 0), 0LL);
	KUNIT_EXPECT_EQ(test, ehs_load_earn(0, 200 * ms), (s64)ms);
	KUNIT_EXPECT_EQ(test, ehs_load_earn(-3LL * ms, 200 * ms), -2LL * (s64)ms);
	KUNIT_EXPECT_EQ(test, ehs_load_earn(0, 10000 * ms), EHS_LOAD_CREDIT_NS);
	/* after a suspend of a hundred years */
	KUNIT_EXPECT_EQ(test, ehs_load_earn(-(s64)ms, 36500 * 86400000ULL * ms),
			EHS_LOAD_CREDIT_NS);
}

static void ehs_load_spends(struct kunit *test)
{
	s64 deepest = -(EHS_LOAD_PAUSE_NS / EHS_LOAD_PART);

	KUNIT_EXPECT_EQ(test, ehs_load_spend(0, 0), 0LL);
	KUNIT_EXPECT_EQ(test, ehs_load_spend(1000, 300), 700LL);
	KUNIT_EXPECT_EQ(test, ehs_load_spend(1000, 3000), -2000LL);
	KUNIT_EXPECT_EQ(test, ehs_load_spend(0, 400 * NSEC_PER_MSEC), deepest);
	KUNIT_EXPECT_EQ(test, ehs_load_spend(EHS_LOAD_CREDIT_NS, U64_MAX), deepest);
}

static void ehs_load_waits(struct kunit *test)
{
	u64 ms = NSEC_PER_MSEC, period = EHS_LOAD_SAMPLE_MS * ms;

	/* with credit only the period counts */
	KUNIT_EXPECT_EQ(test, ehs_load_wait(0, 0), period);
	KUNIT_EXPECT_EQ(test, ehs_load_wait(EHS_LOAD_CREDIT_NS, period - 1), 1ULL);
	KUNIT_EXPECT_EQ(test, ehs_load_wait(0, period), 0ULL);
	KUNIT_EXPECT_EQ(test, ehs_load_wait(0, U64_MAX), 0ULL);
	/* a debt of 1 ms, however long ago the last sample began */
	KUNIT_EXPECT_EQ(test, ehs_load_wait(-(s64)ms, 0), 200 * ms);
	KUNIT_EXPECT_EQ(test, ehs_load_wait(-(s64)ms, U64_MAX), 200 * ms);
	KUNIT_EXPECT_EQ(test, ehs_load_wait(-1, 0), period);
	/* the deepest one is paid after a minute */
	KUNIT_EXPECT_EQ(test, ehs_load_wait(ehs_load_spend(0, U64_MAX), 0), 60000 * ms);
}

/* Something was in the way of a sample: the next does not begin long after it would have. */
static void ehs_load_charges(struct kunit *test)
{
	static const u32 threads[] = { 0, 100, 300, 1000, 10000 };
	const u64 ms = NSEC_PER_MSEC;
	u64 usual, disturbed;
	int i;

	for (i = 0; i < ARRAY_SIZE(threads); i++) {
		usual = 100000 + threads[i] * 300ULL;
		KUNIT_EXPECT_EQ(test, ehs_load_charge(usual, threads[i]), usual);
		disturbed = ehs_load_charge(usual + 100 * ms, threads[i]);
		KUNIT_EXPECT_LE(test, ehs_load_wait(ehs_load_spend(0, disturbed), 0),
				400 * ms + threads[i] * 600000ULL);
	}
	KUNIT_EXPECT_EQ(test, ehs_load_charge(U64_MAX, U32_MAX), 2 * ms + U32_MAX * 3000ULL);
}

/*
 * An hour of samples of @cost_ns, each of them @late_ns later than it might be.
 * Return: what they took.
 */
static u64 ehs_load_hour(u64 cost_ns, u64 late_ns, u64 *longest_ns)
{
	u64 now = 0, hour = 3600 * (u64)NSEC_PER_SEC, spent = 0, wait;
	s64 credit = EHS_LOAD_CREDIT_NS;

	*longest_ns = 0;
	while (now < hour) {
		credit = ehs_load_spend(credit, cost_ns);
		spent += cost_ns;
		wait = max_t(u64, ehs_load_wait(credit, cost_ns) + late_ns, cost_ns);
		*longest_ns = max(*longest_ns, wait);
		credit = ehs_load_earn(credit, wait);
		now += wait;
	}
	return spent;
}

/*
 * "at most 1/200 of a processor up to a million threads": at 20 ns for each, which
 * are in a cache, up to 300 ns, a few misses of all caches. Beside it is the
 * credit, and the last sample, which is not paid yet.
 */
static void ehs_load_keeps_to_its_part(struct kunit *test)
{
	static const u32 threads[] = { 1, 100, 1000, 5000, 47000, 100000, 300000, 1000000 };
	static const u32 each_ns[] = { 20, 34, 100, 300 };
	const u64 part = 3600 * (u64)NSEC_PER_SEC / EHS_LOAD_PART;
	u64 cost, spent, longest;
	int i, j;

	for (i = 0; i < ARRAY_SIZE(threads); i++) {
		for (j = 0; j < ARRAY_SIZE(each_ns); j++) {
			cost = (u64)threads[i] * each_ns[j];
			KUNIT_EXPECT_EQ(test, ehs_load_charge(cost, threads[i]), cost);
			spent = ehs_load_hour(cost, 0, &longest);
			KUNIT_EXPECT_LE(test, spent, part + EHS_LOAD_CREDIT_NS + cost);
			KUNIT_EXPECT_LE(test, longest,
					max_t(u64, cost * EHS_LOAD_PART,
					      EHS_LOAD_SAMPLE_MS * NSEC_PER_MSEC));
			/* all of the part is used when samples are wanted that often */
			if (cost * EHS_LOAD_PART > EHS_LOAD_SAMPLE_MS * NSEC_PER_MSEC)
				KUNIT_EXPECT_GE(test, spent + cost, part);
			/* a timer that is late saves no more than the credit */
			spent = ehs_load_hour(cost, 100 * NSEC_PER_MSEC, &longest);
			KUNIT_EXPECT_LE(test, spent, part + EHS_LOAD_CREDIT_NS + cost);
		}
	}
}

static struct kunit_case ehs_load_cases[] = {
	KUNIT_CASE(ehs_load_rounds),
	KUNIT_CASE(ehs_load_weighs),
	KUNIT_CASE(ehs_load_has_tasks),
	KUNIT_CASE(ehs_load_parts),
	KUNIT_CASE(ehs_load_follows_step),
	KUNIT_CASE(ehs_load_reaches_target),
	KUNIT_CASE(ehs_load_counts_start_once),
	KUNIT_CASE(ehs_load_start_fades),
	KUNIT_CASE(ehs_load_samples_of_time),
	KUNIT_CASE(ehs_load_busy_processors),
	KUNIT_CASE(ehs_load_late_sample_replaces),
	KUNIT_CASE(ehs_load_processor_worked),
	KUNIT_CASE(ehs_load_earns),
	KUNIT_CASE(ehs_load_spends),
	KUNIT_CASE(ehs_load_waits),
	KUNIT_CASE(ehs_load_charges),
	KUNIT_CASE(ehs_load_keeps_to_its_part),
	{},
};

struct kunit_suite ehs_load_suite = {
	.name = "ehsched_load",
	.test_cases = ehs_load_cases,
};
