// SPDX-License-Identifier: GPL-2.0-or-later
/* An exec that waits asks again when another socket of the agent has been registered. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <linux/ehsched.h>

#include "base/agent.h"
#include "home/counters.h"
#include "home/exec.h"
#include "home/learn.h"
#include "home/outcome.h"
#include "home/placement.h"
#include "home/record.h"
#include "node/cgroup.h"
#include "node/kernel.h"

#define COOKIE 4711
#define PID 815

static struct placement record;
static bool known;
static unsigned int placed, verdicts;
static struct cgroup_session session;
static struct placement_task task_placed;
static bool remote;
static enum ehs_reason reason;

/* ---- what exec.c calls ---- */

void record_time(struct placement *p, enum timing_step step)
{
}

struct placement *record_by_cookie(struct agent *agent, uint64_t cookie)
{
	return known && cookie == record.cookie ? &record : NULL;
}

struct cgroup_session cgroup_session_of(struct agent *agent, pid_t pid)
{
	assert_int_equal(pid, PID);
	return session;
}

int placement_start(struct agent *agent, const struct placement_task *task, placement_fn decided,
		    void *ctx)
{
	placed++;
	task_placed = *task;
	return 0;
}

void kernel_verdict(struct agent *agent, uint64_t cookie, bool is_remote, enum ehs_reason why)
{
	assert_int_equal(cookie, COOKIE);
	verdicts++;
	remote = is_remote;
	reason = why;
}

void outcome_failed(struct placement *p, enum ehs_reason why)
{
}

void learn_stays(struct placement *p)
{
}

void counters_stays(struct agent *agent, enum ehs_reason why)
{
}

/* ---- tests ---- */

/* The exec asks, and there is a record of it in this phase. */
static void ask(int phase)
{
	const struct kernel_request request = { .cookie = COOKIE, .pid = PID, .path = "/bin/true" };
	struct agent agent = { 0 };

	record.phase = phase;
	placed = verdicts = 0;
	exec_place(&agent, &request);
}

static int begin(void **state)
{
	record = (struct placement){
		.cookie = COOKIE, .kernel = true, .pid = PID, .reason = EHS_REASON_SENDER
	};
	known = true;
	session = (struct cgroup_session){ .view = VIEW_UNSET };
	return 0;
}

static void test_unknown(void **state)
{
	known = false;
	session = (struct cgroup_session){ .leaves = true, .view = VIEW_HOME };
	ask(PLACEMENT_OPEN);
	assert_int_equal(placed, 1);
	assert_true(task_placed.leaves);
	assert_int_equal(task_placed.view, VIEW_HOME);
}

/* It is decided later, for the socket that is there then. */
static void test_open(void **state)
{
	ask(PLACEMENT_OPEN);
	assert_int_equal(placed + verdicts, 0);
}

/* The module has not taken the verdict, or the exec would not ask. */
static void test_reserved(void **state)
{
	ask(PLACEMENT_RESERVED);
	assert_int_equal(placed, 0);
	assert_int_equal(verdicts, 1);
	assert_true(remote);
	assert_int_equal(reason, EHS_REASON_SENDER);
}

static void test_over(void **state)
{
	record.reason = EHS_REASON_NO_RECEIVER;
	ask(PLACEMENT_OVER);
	assert_int_equal(placed, 0);
	assert_int_equal(verdicts, 1);
	assert_false(remote);
	assert_int_equal(reason, EHS_REASON_NO_RECEIVER);
}

/* A module that was loaded again gives the number to another task, or the same one runs elsewhere. */
static void test_another(void **state)
{
	ask(PLACEMENT_AWAY);
	assert_int_equal(placed, 1);
	record.pid = PID + 1;
	ask(PLACEMENT_OPEN);
	assert_int_equal(placed, 1);
	record.pid = PID;
	record.kernel = false;
	ask(PLACEMENT_RESERVED);
	assert_int_equal(placed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_unknown, begin),
		cmocka_unit_test_setup(test_open, begin),
		cmocka_unit_test_setup(test_reserved, begin),
		cmocka_unit_test_setup(test_over, begin),
		cmocka_unit_test_setup(test_another, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
