// SPDX-License-Identifier: GPL-2.0-only
/* ehsched_test.ko: the KUnit suites. It does not need ehsched.ko. */

#include "test.h"

#include <kunit/test.h>
#include <linux/module.h>

kunit_test_suites(&ehs_account_suite, &ehs_breaker_suite, &ehs_confine_suite, &ehs_crowd_suite,
		  &ehs_format_suite, &ehs_load_suite, &ehs_program_suite, &ehs_release_suite,
		  &ehs_request_suite, &ehs_script_suite, &ehs_state_suite, &ehs_unread_suite);

MODULE_DESCRIPTION("KUnit tests of ehsched");
MODULE_LICENSE("GPL");
