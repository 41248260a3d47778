// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of state.h. */

#include <kunit/test.h>

#include "state.h"
#include "test.h"

static void ehs_state_bounds(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ehs_state_of(699, 1000, 300), EHS_STATE_RECEIVER);
	KUNIT_EXPECT_EQ(test, ehs_state_of(700, 1000, 300), EHS_STATE_OK);
	KUNIT_EXPECT_EQ(test, ehs_state_of(1000, 1000, 300), EHS_STATE_OK);
	KUNIT_EXPECT_EQ(test, ehs_state_of(1300, 1000, 300), EHS_STATE_OK);
	KUNIT_EXPECT_EQ(test, ehs_state_of(1301, 1000, 300), EHS_STATE_SENDER);
}

static void ehs_state_no_length(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ehs_state_of(0, 0, 0), EHS_STATE_OK);
	KUNIT_EXPECT_EQ(test, ehs_state_of(1, 0, 0), EHS_STATE_SENDER);
	KUNIT_EXPECT_EQ(test, ehs_state_of(999, 1000, 0), EHS_STATE_RECEIVER);
}

/* threshold - length is negative, threshold + length exceeds 32 bits */
static void ehs_state_no_wrap(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ehs_state_of(0, 100, 300), EHS_STATE_OK);
	KUNIT_EXPECT_EQ(test, ehs_state_of(401, 100, 300), EHS_STATE_SENDER);
	KUNIT_EXPECT_EQ(test, ehs_state_of(U32_MAX, U32_MAX, U32_MAX), EHS_STATE_OK);
	KUNIT_EXPECT_EQ(test, ehs_state_of(0, U32_MAX, U32_MAX), EHS_STATE_OK);
	KUNIT_EXPECT_EQ(test, ehs_state_of(0, U32_MAX, U32_MAX - 1), EHS_STATE_RECEIVER);
	KUNIT_EXPECT_EQ(test, ehs_state_of(U32_MAX, EHS_MAX_LOAD, EHS_MAX_LOAD), EHS_STATE_SENDER);
}

static void ehs_state_time_left(struct kunit *test)
{
	unsigned long second = msecs_to_jiffies(1000);

	KUNIT_EXPECT_EQ(test, ehs_state_left(0, 1000, 0), second);
	KUNIT_EXPECT_EQ(test, ehs_state_left(0, 1000, 1), second - 1);
	KUNIT_EXPECT_EQ(test, ehs_state_left(0, 1000, second - 1), 1UL);
	KUNIT_EXPECT_EQ(test, ehs_state_left(0, 1000, second), 0UL);
	KUNIT_EXPECT_EQ(test, ehs_state_left(0, 1000, 60 * second), 0UL);
	KUNIT_EXPECT_EQ(test, ehs_state_left(7, 0, 7), 0UL);
}

/* Where jiffies of 32 bits wrap, and where they would look like the future. */
static void ehs_state_time_is_long(struct kunit *test)
{
	unsigned long second = msecs_to_jiffies(1000);
	u64 since = (1ULL << 32) - second / 2;

	KUNIT_EXPECT_EQ(test, ehs_state_left(since, 1000, since), second);
	KUNIT_EXPECT_EQ(test, ehs_state_left(since, 1000, 1ULL << 32), second - second / 2);
	KUNIT_EXPECT_EQ(test, ehs_state_left(since, 1000, since + second), 0UL);
	KUNIT_EXPECT_EQ(test, ehs_state_left(since, 1000, since + (1ULL << 31) + 1), 0UL);
	KUNIT_EXPECT_EQ(test, ehs_state_left(since, 1000, since + (1ULL << 32) + 1), 0UL);
	KUNIT_EXPECT_EQ(test, ehs_state_left(since, 1000, since + (1ULL << 40)), 0UL);
}

static struct kunit_case ehs_state_cases[] = {
	KUNIT_CASE(ehs_state_bounds),	    KUNIT_CASE(ehs_state_no_length),
	KUNIT_CASE(ehs_state_no_wrap),	    KUNIT_CASE(ehs_state_time_left),
	KUNIT_CASE(ehs_state_time_is_long), {},
};

struct kunit_suite ehs_state_suite = {
	.name = "ehsched_state",
	.test_cases = ehs_state_cases,
};
