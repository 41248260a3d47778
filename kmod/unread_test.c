// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of unread.h. */

#include <kunit/test.h>

#include "test.h"
#include "unread.h"

#define START (1000ULL * NSEC_PER_SEC) /* when the first of them came */

static void ehs_unread_are(struct kunit *test, struct ehs_unread *u, u64 now, u32 of_3, u32 all)
{
	KUNIT_EXPECT_EQ(test, ehs_unread_of(u, 3, now), of_3);
	KUNIT_EXPECT_EQ(test, ehs_unread_all(u, now), all);
}

static void ehs_unread_counts(struct kunit *test)
{
	struct ehs_unread u = {};

	ehs_unread_are(test, &u, START, 0, 0);
	ehs_unread_add(&u, 3, START);
	ehs_unread_add(&u, 3, START);
	ehs_unread_add(&u, EHS_BUCKETS - 1, START);
	ehs_unread_are(test, &u, START, 2, 3);
	ehs_unread_answered(&u, 3);
	ehs_unread_are(test, &u, START, 1, 2);
	/* what was not sent takes nothing away */
	ehs_unread_answered(&u, 4);
	ehs_unread_are(test, &u, START, 1, 2);
	ehs_unread_answered(&u, 3);
	ehs_unread_answered(&u, 3);
	ehs_unread_are(test, &u, START, 0, 1);
}

/* Each for EHS_UNREAD_NS at least, and for twice that at most, whenever it is looked at. */
static void ehs_unread_are_forgotten(struct kunit *test)
{
	const u64 step = EHS_UNREAD_NS / 7;
	u64 came, looked;
	struct ehs_unread u;
	u32 n;

	for (came = START; came < START + 2 * EHS_UNREAD_NS; came += step) {
		for (looked = came; looked < came + 3 * EHS_UNREAD_NS; looked += step) {
			u = (struct ehs_unread){};
			ehs_unread_add(&u, 1, START);
			ehs_unread_add(&u, 3, came);
			n = ehs_unread_of(&u, 3, looked);
			if (looked - came < EHS_UNREAD_NS)
				KUNIT_EXPECT_EQ(test, n, 1);
			if (looked - came >= 2 * EHS_UNREAD_NS)
				KUNIT_EXPECT_EQ(test, n, 0);
			n = ehs_unread_of(&u, 3, came + 2 * EHS_UNREAD_NS);
			KUNIT_EXPECT_EQ(test, n, 0);
			ehs_unread_are(test, &u, came + 4 * EHS_UNREAD_NS, 0, 0);
		}
	}
}

static void ehs_unread_answers_of_before(struct kunit *test)
{
	struct ehs_unread u = {};

	ehs_unread_add(&u, 3, START);
	ehs_unread_add(&u, 3, START + EHS_UNREAD_NS);
	ehs_unread_are(test, &u, START + EHS_UNREAD_NS, 2, 2);
	/* the older one first, or the other would be forgotten with it */
	ehs_unread_answered(&u, 3);
	ehs_unread_are(test, &u, START + 2 * EHS_UNREAD_NS - 1, 1, 1);
	ehs_unread_are(test, &u, START + 2 * EHS_UNREAD_NS, 1, 1);
	ehs_unread_answered(&u, 3);
	ehs_unread_are(test, &u, START + 2 * EHS_UNREAD_NS, 0, 0);
}

/* A clock that was read before another one forgets nothing. */
static void ehs_unread_time_goes_back(struct kunit *test)
{
	struct ehs_unread u = {};

	ehs_unread_add(&u, 3, START);
	ehs_unread_are(test, &u, START - 1, 1, 1);
	ehs_unread_add(&u, 3, START - 1);
	ehs_unread_are(test, &u, START, 2, 2);
}

static void ehs_unread_is_bounded(struct kunit *test)
{
	struct ehs_unread u = { .turned_ns = START };
	u32 i;

	for (i = 0; i < U16_MAX + 10; i++)
		ehs_unread_add(&u, 3, START);
	ehs_unread_are(test, &u, START, U16_MAX, U16_MAX);
}

/* The bucket of a cookie, which does not show in it. */
static void ehs_unread_bucket_of_cookie(struct kunit *test)
{
	const siphash_key_t key = { { 1, 2 } }, other = { { 3, 4 } };
	u32 bucket, plain = 0, same = 0;
	u64 n, cookie;

	for (n = 0; n < 1000; n++) {
		bucket = n * 7 % EHS_BUCKETS;
		cookie = ehs_bucket_cookie(n, bucket, &key);
		KUNIT_EXPECT_EQ(test, ehs_bucket_of(cookie, &key), bucket);
		KUNIT_EXPECT_EQ(test, cookie >> EHS_BUCKET_BITS, n);
		plain += (cookie & (EHS_BUCKETS - 1)) == bucket;
		same += ehs_bucket_of(cookie, &other) == bucket;
	}
	/* by chance one in 64 is */
	KUNIT_EXPECT_LT(test, plain, 50);
	KUNIT_EXPECT_LT(test, same, 50);
}

static struct kunit_case ehs_unread_cases[] = {
	KUNIT_CASE(ehs_unread_counts),
	KUNIT_CASE(ehs_unread_are_forgotten),
	KUNIT_CASE(ehs_unread_answers_of_before),
	KUNIT_CASE(ehs_unread_time_goes_back),
	KUNIT_CASE(ehs_unread_is_bounded),
	KUNIT_CASE(ehs_unread_bucket_of_cookie),
	{},
};

struct kunit_suite ehs_unread_suite = {
	.name = "ehsched_unread",
	.test_cases = ehs_unread_cases,
};
