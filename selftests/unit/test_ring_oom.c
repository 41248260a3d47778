// SPDX-License-Identifier: GPL-2.0-or-later
/* gang and divide without memory: each allocation fails in turn and gives -ENOMEM. Linked with --wrap. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "plan/divide/divide.h"
#include "plan/gang/gang.h"
#include "plan/gang/protocol.h"
#include "oom.h"

#define RING \
	"\"processors\":[{\"id\":\"a\",\"a\":1,\"s\":0.5,\"c\":0.1},{\"id\":\"b\",\"a\":1,\"s\":0.5,\"c\":0.1},{\"id\":\"c\",\"a\":1,\"s\":0.5,\"c\":0.1}]"

static int gang(const char *text)
{
	struct plan_refusal refusal;
	struct gang_problem problem;
	struct gang_plan plan = { 0 };
	int err = gang_problem_read(&problem, text, strlen(text), &refusal);

	if (!err)
		err = gang_plan(&plan, &problem);
	gang_plan_end(&plan);
	gang_problem_end(&problem);
	return err;
}

static int divide(const char *text)
{
	struct plan_refusal refusal;
	struct divide_problem problem;
	struct divide_plan plan = { 0 };
	int err = divide_problem_read(&problem, text, strlen(text), &refusal);

	if (!err)
		err = divide_plan(&plan, &problem, NULL);
	divide_plan_end(&plan);
	if (!err)
		err = divide_printed(&plan, &problem);
	divide_plan_end(&plan);
	divide_problem_end(&problem);
	return err;
}

static int protocol(const char *text);

static void each_fails(int (*call)(const char *text), const char *text, int least)
{
	int failed = 0, err;

	for (int i = 1;; i++) {
		oom_until = i;
		err = call(text);
		if (oom_until) { /* it came to an end before */
			oom_until = 0;
			break;
		}
		assert_int_equal(err, -ENOMEM);
		failed++;
	}
	assert_int_equal(err, 0);
	assert_true(failed >= least);
}

static void ignore(void *ctx, const struct gang_message *message)
{
}

static int protocol(const char *text)
{
	struct gang_message reply = { .type = GANG_REPLY, .tid = 1, .host = 2, .offer = 1 };
	struct gang_job_options options = { .tid = 1, .collect = 10, .repeat = 5, .lease = 100 };
	struct gang_job job;
	size_t first = 0;
	int err;

	gang_job_begin(&job, &options, 0, ignore, NULL);
	err = gang_job_step(&job, &reply, 1, ignore, NULL);
	if (!err)
		err = gang_job_step(&job, NULL, 10, ignore, NULL);
	if (!err)
		err = gang_job_choose(&job, &first, 1, 10, ignore, NULL);
	gang_job_end(&job);
	return err;
}

static void test_each(void **state)
{
	each_fails(
		gang,
		"{\"hosts\":[{\"id\":\"a\",\"utilization\":0}],\"model\":{\"kind\":\"table\",\"compute\":[1],\"comm\":[1],\"load\":[1],\"collect\":[1]}}",
		12);
	each_fails(divide, "{\"work\":100," RING "}", 8);
	each_fails(divide,
		   "{\"work\":100," RING ",\"result\":{\"kind\":\"linear\",\"m\":0.2,\"b\":0.2}}",
		   15);
	each_fails(protocol, "", 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_each) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
