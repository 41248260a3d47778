/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The loader of a kernel without CONFIG_KUNIT does not look for a module's
 * suites, so the module registers them itself, as all did before Linux 6.0.
 */
#include <kunit/test.h>
#include <linux/module.h>

#undef kunit_test_suites
#define kunit_test_suites(__suites...)                                                   \
	static struct kunit_suite *kunit_suites[] = { __suites };                        \
                                                                                         \
	static int __init kunit_suites_init(void)                                        \
	{                                                                                \
		return __kunit_test_suites_init(kunit_suites, ARRAY_SIZE(kunit_suites)); \
	}                                                                                \
	module_init(kunit_suites_init);                                                  \
                                                                                         \
	static void __exit kunit_suites_exit(void)                                       \
	{                                                                                \
		__kunit_test_suites_exit(kunit_suites, ARRAY_SIZE(kunit_suites));        \
	}                                                                                \
	module_exit(kunit_suites_exit)
