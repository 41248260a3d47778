// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of breaker.h. */

#include <kunit/test.h>

#include "breaker.h"
#include "test.h"

#define MS NSEC_PER_MSEC

static void ehs_breaker_miss_all(struct ehs_breaker *b, u64 now)
{
	int i;

	for (i = 0; i < EHS_BREAKER_MISSES; i++)
		ehs_breaker_missed(b, now, 100 * MS, false);
}

static void ehs_breaker_opens(struct kunit *test)
{
	struct ehs_breaker b = {};
	bool try;
	int i;

	for (i = 1; i < EHS_BREAKER_MISSES; i++)
		KUNIT_EXPECT_FALSE(test, ehs_breaker_missed(&b, 0, 100 * MS, false));
	KUNIT_EXPECT_TRUE(test, ehs_breaker_admits(&b, 0, 100 * MS, &try));
	KUNIT_EXPECT_FALSE(test, try);
	KUNIT_EXPECT_TRUE(test, ehs_breaker_missed(&b, 0, 100 * MS, false));
	KUNIT_EXPECT_FALSE(test, ehs_breaker_admits(&b, 1000 * MS - 1, 100 * MS, &try));
	/* those that still waited do not make the pause longer */
	KUNIT_EXPECT_FALSE(test, ehs_breaker_missed(&b, 10 * MS, 100 * MS, false));
	KUNIT_EXPECT_EQ(test, b.until_ns, 1000 * MS);
}

static void ehs_breaker_one_tries(struct kunit *test)
{
	struct ehs_breaker b = {};
	bool try;

	ehs_breaker_miss_all(&b, 0);
	KUNIT_EXPECT_TRUE(test, ehs_breaker_admits(&b, 1000 * MS, 100 * MS, &try));
	KUNIT_EXPECT_TRUE(test, try);
	KUNIT_EXPECT_FALSE(test, ehs_breaker_admits(&b, 1000 * MS, 100 * MS, &try));
	KUNIT_EXPECT_TRUE(test, ehs_breaker_missed(&b, 1100 * MS, 100 * MS, true));
	KUNIT_EXPECT_FALSE(test, ehs_breaker_admits(&b, 3100 * MS - 1, 100 * MS, &try));
	KUNIT_EXPECT_TRUE(test, ehs_breaker_admits(&b, 3100 * MS, 100 * MS, &try));
	KUNIT_EXPECT_TRUE(test, try);
	/* killed: another one may try at once */
	ehs_breaker_left(&b, true);
	KUNIT_EXPECT_TRUE(test, ehs_breaker_admits(&b, 3100 * MS, 100 * MS, &try));
}

static void ehs_breaker_closes(struct kunit *test)
{
	struct ehs_breaker b = {};
	bool try;

	ehs_breaker_miss_all(&b, 0);
	ehs_breaker_answered(&b);
	KUNIT_EXPECT_TRUE(test, ehs_breaker_admits(&b, 0, 100 * MS, &try));
	KUNIT_EXPECT_FALSE(test, try);
	KUNIT_EXPECT_FALSE(test, ehs_breaker_missed(&b, 0, 100 * MS, false));
}

/* it sleeps for something else than the agent */
static void ehs_breaker_try_has_no_end(struct kunit *test)
{
	struct ehs_breaker b = {};
	bool try;

	ehs_breaker_miss_all(&b, 0);
	KUNIT_EXPECT_TRUE(test, ehs_breaker_admits(&b, 1000 * MS, 100 * MS, &try));
	KUNIT_EXPECT_FALSE(test, ehs_breaker_admits(&b, 1200 * MS - 1, 100 * MS, &try));
	KUNIT_EXPECT_TRUE(test, ehs_breaker_admits(&b, 1200 * MS, 100 * MS, &try));
	KUNIT_EXPECT_TRUE(test, try);
}

/* always a little late */
static void ehs_breaker_late_answers(struct kunit *test)
{
	struct ehs_breaker b = {};
	bool try;

	ehs_breaker_miss_all(&b, 0);
	ehs_breaker_lives(&b, 10 * MS);
	KUNIT_EXPECT_TRUE(test, ehs_breaker_admits(&b, 10 * MS, 100 * MS, &try));
	KUNIT_EXPECT_TRUE(test, try);
	KUNIT_EXPECT_FALSE(test, ehs_breaker_admits(&b, 10 * MS, 100 * MS, &try));
	KUNIT_EXPECT_TRUE(test, ehs_breaker_missed(&b, 110 * MS, 100 * MS, true));
	KUNIT_EXPECT_FALSE(test, ehs_breaker_admits(&b, 111 * MS, 100 * MS, &try));
	ehs_breaker_lives(&b, 111 * MS);
	KUNIT_EXPECT_FALSE(test, ehs_breaker_admits(&b, 111 * MS, 100 * MS, &try));
	/* an answer that comes while one tries, behind others, is not what is waited for */
	b = (struct ehs_breaker){};
	ehs_breaker_miss_all(&b, 0);
	KUNIT_EXPECT_TRUE(test, ehs_breaker_admits(&b, 1000 * MS, 100 * MS, &try));
	ehs_breaker_lives(&b, 1010 * MS);
	KUNIT_EXPECT_TRUE(test, ehs_breaker_missed(&b, 1100 * MS, 100 * MS, true));
	ehs_breaker_lives(&b, 1110 * MS);
	KUNIT_EXPECT_TRUE(test, ehs_breaker_admits(&b, 1110 * MS, 100 * MS, &try));
	/* when it has been in time, it may be late again */
	ehs_breaker_answered(&b);
	ehs_breaker_miss_all(&b, 0);
	ehs_breaker_lives(&b, 10 * MS);
	KUNIT_EXPECT_TRUE(test, ehs_breaker_admits(&b, 10 * MS, 100 * MS, &try));
	/* before it opens they do not count as answers */
	b = (struct ehs_breaker){};
	ehs_breaker_missed(&b, 0, 100 * MS, false);
	ehs_breaker_lives(&b, 0);
	ehs_breaker_missed(&b, 0, 100 * MS, false);
	ehs_breaker_lives(&b, 0);
	KUNIT_EXPECT_TRUE(test, ehs_breaker_missed(&b, 0, 100 * MS, false));
}

static void ehs_breaker_pause_is_bounded(struct kunit *test)
{
	struct ehs_breaker b = {};
	u64 now = 0;
	bool try;
	int i;

	ehs_breaker_miss_all(&b, 0);
	for (i = 0; i < 100; i++) {
		now = b.until_ns;
		KUNIT_ASSERT_TRUE(test, ehs_breaker_admits(&b, now, 100 * MS, &try));
		ehs_breaker_missed(&b, now, 10000 * MS, true);
		KUNIT_EXPECT_LE(test, b.until_ns - now, EHS_BREAKER_MAX_NS);
	}
	KUNIT_EXPECT_EQ(test, b.pause_ns, EHS_BREAKER_MAX_NS);
}

static struct kunit_case ehs_breaker_cases[] = {
	KUNIT_CASE(ehs_breaker_opens),
	KUNIT_CASE(ehs_breaker_one_tries),
	KUNIT_CASE(ehs_breaker_closes),
	KUNIT_CASE(ehs_breaker_try_has_no_end),
	KUNIT_CASE(ehs_breaker_late_answers),
	KUNIT_CASE(ehs_breaker_pause_is_bounded),
	{},
};

struct kunit_suite ehs_breaker_suite = {
	.name = "ehsched_breaker",
	.test_cases = ehs_breaker_cases,
};
