// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of usage.h. */

#include <kunit/test.h>

#include "usage.h"
#include "test.h"

static void ehs_usage_adds(struct kunit *test)
{
	const struct ehs_usage usage = {
		.utime = 1,
		.stime = 2,
		.min_flt = 3,
		.maj_flt = 4,
		.nvcsw = 5,
		.nivcsw = 6,
	};
	struct signal_struct *sig = kunit_kzalloc(test, sizeof(*sig), GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, sig);
	sig->cutime = 100;
	sig->cnivcsw = 1000;
	ehs_usage_add(sig, &usage);
	ehs_usage_add(sig, &usage);
	KUNIT_EXPECT_EQ(test, sig->cutime, 102ULL);
	KUNIT_EXPECT_EQ(test, sig->cstime, 4ULL);
	KUNIT_EXPECT_EQ(test, sig->cmin_flt, 6UL);
	KUNIT_EXPECT_EQ(test, sig->cmaj_flt, 8UL);
	KUNIT_EXPECT_EQ(test, sig->cnvcsw, 10UL);
	KUNIT_EXPECT_EQ(test, sig->cnivcsw, 1012UL);
	/* what the task's own threads have used is the scheduler's to count */
	KUNIT_EXPECT_EQ(test, sig->utime, 0ULL);
	KUNIT_EXPECT_EQ(test, sig->stime, 0ULL);
	KUNIT_EXPECT_EQ(test, sig->nvcsw, 0UL);
}

/* Comes in KiB, is kept in pages; the largest child counts, not the sum. */
static void ehs_usage_max_rss(struct kunit *test)
{
	const unsigned long page_kib = PAGE_SIZE / 1024;
	struct signal_struct *sig = kunit_kzalloc(test, sizeof(*sig), GFP_KERNEL);
	struct ehs_usage usage = { .maxrss = 100 * page_kib };

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, sig);
	ehs_usage_add(sig, &usage);
	KUNIT_EXPECT_EQ(test, sig->cmaxrss, 100UL);
	usage.maxrss = 99 * page_kib;
	ehs_usage_add(sig, &usage);
	KUNIT_EXPECT_EQ(test, sig->cmaxrss, 100UL);
	usage.maxrss = 101 * page_kib + page_kib - 1;
	ehs_usage_add(sig, &usage);
	KUNIT_EXPECT_EQ(test, sig->cmaxrss, 101UL);
}

static void ehs_usage_bounds(struct kunit *test)
{
	const u64 lived = NSEC_PER_SEC, most = lived * EHS_USAGE_CPUS;
	struct ehs_usage before = {}, usage = { .utime = most - 1, .stime = 1 };

	KUNIT_EXPECT_TRUE(test, ehs_usage_is_possible(&usage, lived, &before));
	KUNIT_EXPECT_EQ(test, before.utime, most);
	/* in sum, not each time */
	usage = (struct ehs_usage){ .utime = 1 };
	KUNIT_EXPECT_FALSE(test, ehs_usage_is_possible(&usage, lived, &before));
	usage = (struct ehs_usage){ .min_flt = most / 2, .nivcsw = most / 2 };
	KUNIT_EXPECT_TRUE(test, ehs_usage_is_possible(&usage, lived, &before));
	usage = (struct ehs_usage){ .maj_flt = 1 };
	KUNIT_EXPECT_FALSE(test, ehs_usage_is_possible(&usage, lived, &before));
	/* nothing of what is refused counts */
	KUNIT_EXPECT_EQ(test, before.min_flt, most);
	/* sums that wrap */
	before = (struct ehs_usage){};
	usage = (struct ehs_usage){ .utime = U64_MAX, .stime = 2 };
	KUNIT_EXPECT_FALSE(test, ehs_usage_is_possible(&usage, lived, &before));
	usage = (struct ehs_usage){ .nvcsw = U64_MAX, .nivcsw = U64_MAX };
	KUNIT_EXPECT_FALSE(test, ehs_usage_is_possible(&usage, U64_MAX, &before));
	usage = (struct ehs_usage){ .maxrss = U64_MAX };
	KUNIT_EXPECT_FALSE(test, ehs_usage_is_possible(&usage, lived, &before));
}

static struct kunit_case ehs_usage_cases[] = {
	KUNIT_CASE(ehs_usage_bounds),
	KUNIT_CASE(ehs_usage_adds),
	KUNIT_CASE(ehs_usage_max_rss),
	{},
};

struct kunit_suite ehs_account_suite = {
	.name = "ehsched_account",
	.test_cases = ehs_usage_cases,
};
