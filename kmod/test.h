/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_TEST_H
#define _EHS_TEST_H

/*
 * KUnit tests of what in the module is pure, and of files that see a world made for
 * the test: ehsched_test.ko, by test.c.
 */
extern struct kunit_suite ehs_account_suite;
extern struct kunit_suite ehs_breaker_suite;
extern struct kunit_suite ehs_confine_suite;
extern struct kunit_suite ehs_crowd_suite;
extern struct kunit_suite ehs_format_suite;
extern struct kunit_suite ehs_load_suite;
extern struct kunit_suite ehs_program_suite;
extern struct kunit_suite ehs_release_suite;
extern struct kunit_suite ehs_request_suite;
extern struct kunit_suite ehs_script_suite;
extern struct kunit_suite ehs_state_suite;
extern struct kunit_suite ehs_unread_suite;

#endif /* _EHS_TEST_H */
