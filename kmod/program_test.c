// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of program.h. */

#include <kunit/test.h>
#include <linux/ehsched.h>
#include <linux/overflow.h>

#include "program.h"
#include "test.h"

static struct ehs_program_set *ehs_program_make(struct kunit *test, unsigned int n)
{
	unsigned int bits = ehs_program_bits(n);
	struct ehs_program_set *set;

	set = kunit_kzalloc(test, struct_size(set, slots, 1UL << bits), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, set);
	set->bits = bits;
	return set;
}

/* Those of one directory: they follow one another and were installed together. */
static struct ehs_program ehs_program_number(unsigned int i)
{
	return (struct ehs_program){ .ino = 4096 + i, .sec = 1700000000, .nsec = 7, .dev = 0x801 };
}

static unsigned int ehs_program_used(const struct ehs_program_set *set)
{
	unsigned int i, n = 0;

	for (i = 0; i < 1U << set->bits; i++)
		n += !!set->slots[i].dev;
	return n;
}

static void ehs_program_sizes(struct kunit *test)
{
	unsigned int n;

	for (n = 1; n <= EHS_MAX_PROGRAMS; n++) {
		KUNIT_EXPECT_GE(test, 1U << ehs_program_bits(n), 2 * n);
		KUNIT_EXPECT_LT(test, 1U << ehs_program_bits(n), 4 * n);
	}
}

static void ehs_program_one(struct kunit *test)
{
	struct ehs_program_set *set = ehs_program_make(test, 1);
	struct ehs_program first = ehs_program_number(0), other = ehs_program_number(1);

	KUNIT_EXPECT_FALSE(test, ehs_program_in(set, &first));
	ehs_program_add(set, &first);
	KUNIT_EXPECT_TRUE(test, ehs_program_in(set, &first));
	KUNIT_EXPECT_FALSE(test, ehs_program_in(set, &other));
}

/* Another file, or the same with another change time. */
static void ehs_program_all_tells(struct kunit *test)
{
	struct ehs_program_set *set = ehs_program_make(test, 1);
	struct ehs_program program = ehs_program_number(0), other;

	ehs_program_add(set, &program);
	other = program;
	other.ino++;
	KUNIT_EXPECT_FALSE(test, ehs_program_in(set, &other));
	other = program;
	other.ino |= 1ULL << 32;
	KUNIT_EXPECT_FALSE(test, ehs_program_in(set, &other));
	other = program;
	other.dev++;
	KUNIT_EXPECT_FALSE(test, ehs_program_in(set, &other));
	other = program;
	other.sec++;
	KUNIT_EXPECT_FALSE(test, ehs_program_in(set, &other));
	other = program;
	other.nsec--;
	KUNIT_EXPECT_FALSE(test, ehs_program_in(set, &other));
	KUNIT_EXPECT_TRUE(test, ehs_program_in(set, &program));
}

static void ehs_program_twice(struct kunit *test)
{
	struct ehs_program_set *set = ehs_program_make(test, EHS_MAX_PROGRAMS);
	struct ehs_program program;
	unsigned int i;

	for (i = 0; i < EHS_MAX_PROGRAMS; i++) {
		program = ehs_program_number(i % 3);
		ehs_program_add(set, &program);
	}
	KUNIT_EXPECT_EQ(test, ehs_program_used(set), 3U);
	for (i = 0; i < 6; i++) {
		program = ehs_program_number(i);
		KUNIT_EXPECT_EQ(test, ehs_program_in(set, &program), i < 3);
	}
}

static void ehs_program_full(struct kunit *test)
{
	struct ehs_program_set *set = ehs_program_make(test, EHS_MAX_PROGRAMS);
	struct ehs_program program;
	unsigned int i;

	for (i = 0; i < EHS_MAX_PROGRAMS; i++) {
		program = ehs_program_number(i);
		ehs_program_add(set, &program);
	}
	KUNIT_EXPECT_EQ(test, ehs_program_used(set), (unsigned int)EHS_MAX_PROGRAMS);
	for (i = 0; i < 4 * EHS_MAX_PROGRAMS; i++) {
		program = ehs_program_number(i);
		KUNIT_EXPECT_EQ(test, ehs_program_in(set, &program), i < EHS_MAX_PROGRAMS);
	}
}

/* All in one chain, which goes on at the first slot after the last. */
static void ehs_program_same_hash(struct kunit *test)
{
	struct ehs_program_set *set = ehs_program_make(test, EHS_MAX_PROGRAMS);
	struct ehs_program program = ehs_program_number(0);
	unsigned int i;

	while (ehs_program_slot(set, &program) != (1U << set->bits) - 1)
		program.ino++;
	for (i = 0; i < EHS_MAX_PROGRAMS; i++) {
		program.sec = i;
		ehs_program_add(set, &program);
	}
	KUNIT_EXPECT_EQ(test, ehs_program_used(set), (unsigned int)EHS_MAX_PROGRAMS);
	for (i = 0; i < 2 * EHS_MAX_PROGRAMS; i++) {
		program.sec = i;
		KUNIT_EXPECT_EQ(test, ehs_program_in(set, &program), i < EHS_MAX_PROGRAMS);
	}
}

static struct kunit_case ehs_program_cases[] = {
	KUNIT_CASE(ehs_program_sizes),
	KUNIT_CASE(ehs_program_one),
	KUNIT_CASE(ehs_program_all_tells),
	KUNIT_CASE(ehs_program_twice),
	KUNIT_CASE(ehs_program_full),
	KUNIT_CASE(ehs_program_same_hash),
	{},
};

struct kunit_suite ehs_program_suite = {
	.name = "ehsched_program",
	.test_cases = ehs_program_cases,
};
