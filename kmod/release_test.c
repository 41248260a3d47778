// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of compat/release.h. */

#include <kunit/test.h>

#include "compat/release.h"
#include "test.h"

#define OTHERS "#1 SMP PREEMPT_DYNAMIC Tue Nov 26 10:00:00 UTC 2024"

static void ehs_release_expect(struct kunit *test, const char *release, const char *version,
			       u32 first, u32 last)
{
	struct ehs_release r = ehs_release_of(release, version);

	KUNIT_EXPECT_EQ_MSG(test, r.first, first, "%s, %s", release, version);
	KUNIT_EXPECT_EQ_MSG(test, r.last, last, "%s, %s", release, version);
}

static void ehs_release_known(struct kunit *test)
{
	static const struct {
		const char *release, *version;
		u32 is;
	} known[] = {
		{ "6.12.1", OTHERS, KERNEL_VERSION(6, 12, 1) },
		{ "6.12.1-arch1-1", OTHERS, KERNEL_VERSION(6, 12, 1) },
		{ "6.12.6-200.fc41.x86_64", OTHERS, KERNEL_VERSION(6, 12, 6) },
		{ "6.12.0", OTHERS, KERNEL_VERSION(6, 12, 0) },
		{ "6.12.0+", OTHERS, KERNEL_VERSION(6, 12, 0) },
		{ "6.12.0-rc3", OTHERS, KERNEL_VERSION(6, 12, 0) },
		{ "6.1.300-custom", OTHERS, KERNEL_VERSION(6, 1, 255) },
		{ "6.12.117+deb13-amd64", "#1 SMP Debian 6.12.117-1 (2026-11-20)",
		  KERNEL_VERSION(6, 12, 117) },
		{ "6.1.0-56-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-2 (2026-11-10)",
		  KERNEL_VERSION(6, 1, 192) },
		/* the source counts: one name of an interface may be of several */
		{ "6.12.2+deb13-amd64", "#1 SMP Debian 6.12.1-1 (2024-11-23)",
		  KERNEL_VERSION(6, 12, 1) },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		ehs_release_expect(test, known[i].release, known[i].version, known[i].is,
				   known[i].is);
}

static void ehs_release_line(struct kunit *test)
{
	static const char *const releases[] = {
		"6.12.0-55.el10.x86_64",
		"6.12.0-9-generic",
		"6.12.0-1-default",
		"6.12-amd64",
		"6.12",
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(releases); i++)
		ehs_release_expect(test, releases[i], OTHERS, KERNEL_VERSION(6, 12, 0),
				   KERNEL_VERSION(6, 12, 255));
	/* what is said of another line, or is no version, says nothing of this one */
	ehs_release_expect(test, "6.12.0-1-x", "Debian 6.1.192-2", KERNEL_VERSION(6, 12, 0),
			   KERNEL_VERSION(6, 12, 255));
	ehs_release_expect(test, "6.12.0-1-x", "Debian ", KERNEL_VERSION(6, 12, 0),
			   KERNEL_VERSION(6, 12, 255));
	ehs_release_expect(test, "6.12.0-1-x", "Debian 6.12~rc6-1~exp1", KERNEL_VERSION(6, 12, 0),
			   KERNEL_VERSION(6, 12, 255));
}

static void ehs_release_none(struct kunit *test)
{
	static const char *const releases[] = { "", "6", "6.", "linux", ".12.1", "-6.12.1" };
	int i;

	for (i = 0; i < ARRAY_SIZE(releases); i++)
		ehs_release_expect(test, releases[i], "Debian 6.12.117-1", 0, U32_MAX);
}

static void ehs_release_bounds(struct kunit *test)
{
	const u32 from = KERNEL_VERSION(6, 12, 0), until = KERNEL_VERSION(6, 12, 2);
	static const struct {
		const char *release;
		bool may;
	} cases[] = {
		{ "6.11.255", false },
		{ "6.12.0", true },
		{ "6.12.1", true },
		{ "6.12.2", false },
		{ "6.12.0-9-generic", true },
		{ "6.13.0-9-generic", false },
		{ "6.11.0-9-generic", false },
		{ "what", true },
	};
	struct ehs_release r;
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		r = ehs_release_of(cases[i].release, OTHERS);
		KUNIT_EXPECT_EQ_MSG(test, ehs_release_may_be(&r, from, until), cases[i].may, "%s",
				    cases[i].release);
	}
}

static struct kunit_case ehs_release_cases[] = {
	KUNIT_CASE(ehs_release_known),
	KUNIT_CASE(ehs_release_line),
	KUNIT_CASE(ehs_release_none),
	KUNIT_CASE(ehs_release_bounds),
	{},
};

struct kunit_suite ehs_release_suite = {
	.name = "ehsched_release",
	.test_cases = ehs_release_cases,
};
