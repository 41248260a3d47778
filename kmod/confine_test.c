// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of what a task cannot leave again (confine.c), with a task of their own
 * that never runs: not each kernel and processor lets a task get there.
 */

#include <kunit/test.h>
#include <linux/bitops.h>
#include <linux/mm_types.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/spinlock.h>
#include <linux/string.h>

/* A kernel that has both built in has the module's own ones, too. */
#define ehs_confine ehs_confine_test_confine
#define ehs_confine_program ehs_confine_test_program

#include "test.h"
#include "confine.c"

/* A task that nothing limits, with memory of its own. */
static int ehs_confine_task_init(struct kunit *test)
{
	struct task_struct *task = kunit_kzalloc(test, sizeof(*task), GFP_KERNEL);

	if (!task)
		return -ENOMEM;
	task->mm = kunit_kzalloc(test, sizeof(*task->mm), GFP_KERNEL);
	if (!task->mm)
		return -ENOMEM;
	spin_lock_init(&task->alloc_lock);
	test->priv = task;
	return 0;
}

static void ehs_confine_unlimited(struct kunit *test)
{
	struct task_struct *task = test->priv;

	KUNIT_EXPECT_FALSE(test, ehs_confine_is_limited(task));
}

/* It ends: what it was under is not known any more. */
static void ehs_confine_ended(struct kunit *test)
{
	struct task_struct *task = test->priv;

	task->mm = NULL;
	KUNIT_EXPECT_TRUE(test, ehs_confine_is_limited(task));
}

#ifdef CONFIG_SECCOMP
static void ehs_confine_seccomp(struct kunit *test)
{
	struct task_struct *task = test->priv;

	task->seccomp.mode = SECCOMP_MODE_STRICT;
	KUNIT_EXPECT_TRUE(test, ehs_confine_is_limited(task));
	task->seccomp.mode = SECCOMP_MODE_FILTER;
	KUNIT_EXPECT_TRUE(test, ehs_confine_is_limited(task));
}
#endif

#ifdef CONFIG_SCHED_CORE
static void ehs_confine_core(struct kunit *test)
{
	struct task_struct *task = test->priv;

	task->core_cookie = 1;
	KUNIT_EXPECT_TRUE(test, ehs_confine_is_limited(task));
	/* a cookie is an address */
	task->core_cookie = 1UL << (BITS_PER_LONG - 1);
	KUNIT_EXPECT_TRUE(test, ehs_confine_is_limited(task));
}
#endif

static void ehs_confine_speculation(struct kunit *test)
{
	struct task_struct *task = test->priv;

	/* these the task can undo, or its exec does */
	task_set_spec_ssb_disable(task);
	task_set_spec_ssb_noexec(task);
	task_set_spec_ib_disable(task);
	KUNIT_EXPECT_FALSE(test, ehs_confine_is_limited(task));
	task_set_spec_ssb_force_disable(task);
	KUNIT_EXPECT_TRUE(test, ehs_confine_is_limited(task));
	task->atomic_flags = 0;
	task_set_spec_ib_force_disable(task);
	KUNIT_EXPECT_TRUE(test, ehs_confine_is_limited(task));
}

#ifdef MMF_HAS_MDWE
static void ehs_confine_mdwe(struct kunit *test)
{
	struct task_struct *task = test->priv;
	/* one word or an array of them, as the kernel has it */
	unsigned long *flags = (unsigned long *)&task->mm->flags;

	set_bit(MMF_HAS_MDWE, flags);
	KUNIT_EXPECT_TRUE(test, ehs_confine_is_limited(task));
	/* all but this one */
	memset(flags, 0xff, sizeof(task->mm->flags));
	clear_bit(MMF_HAS_MDWE, flags);
	KUNIT_EXPECT_FALSE(test, ehs_confine_is_limited(task));
}
#endif

static struct kunit_case ehs_confine_cases[] = {
	KUNIT_CASE(ehs_confine_unlimited),
	KUNIT_CASE(ehs_confine_ended),
#ifdef CONFIG_SECCOMP
	KUNIT_CASE(ehs_confine_seccomp),
#endif
#ifdef CONFIG_SCHED_CORE
	KUNIT_CASE(ehs_confine_core),
#endif
	KUNIT_CASE(ehs_confine_speculation),
#ifdef MMF_HAS_MDWE
	KUNIT_CASE(ehs_confine_mdwe),
#endif
	{},
};

struct kunit_suite ehs_confine_suite = {
	.name = "ehsched_confine",
	.init = ehs_confine_task_init,
	.test_cases = ehs_confine_cases,
};
