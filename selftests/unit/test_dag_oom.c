// SPDX-License-Identifier: GPL-2.0-or-later
/* The dag planner without memory: each allocation in turn fails, and the error is reported. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "plan/dag/check.h"
#include "plan/dag/read.h"
#include "plan/dag/solve.h"
#include "oom.h"

static const char *const graphs[] = {
	"{\"tasks\":[{\"id\":\"a\",\"work\":3},{\"id\":\"b\",\"work\":4},{\"id\":\"c\",\"work\":5}],"
	"\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"data\":2},{\"from\":\"a\",\"to\":\"c\",\"data\":9}]}",
	"{\"tasks\":[{\"id\":\"a\",\"times\":[3,4]},{\"id\":\"b\",\"times\":[4,3]}],\"edges\":[]}",
	"{\"workflow\":{\"specification\":{\"tasks\":[{\"id\":\"p\",\"children\":[\"q\"],\"outputFiles\":[\"f\"]},"
	"{\"id\":\"q\",\"inputFiles\":[\"f\"]}],\"files\":[{\"id\":\"f\",\"sizeInBytes\":9}]},"
	"\"execution\":{\"tasks\":[{\"id\":\"p\",\"runtimeInSeconds\":1},{\"id\":\"q\",\"runtimeInSeconds\":2}]}}}",
	"3\n1 2 0\n2 3 1 1\n3 1 1 1\n",
	"digraph { a [Weight=1]; b [Weight=\"2\"]; a -> b [Weight=3] }",
	"<adag><job id='a' runtime='1'><uses file='f' link='output' size='5'/></job>"
	"<job id='b' runtime='2'><uses file='f' link='input' size='5'/></job>"
	"<child ref='b'><parent ref='a'/></child></adag>",
};

static const char machine_text[] =
	"{\"processors\":[{\"id\":\"x\"},{\"id\":\"y\",\"speed\":2}],\"relays\":[{\"id\":\"r\"}],"
	"\"links\":[{\"a\":\"x\",\"b\":\"r\",\"rate\":2},{\"a\":\"r\",\"b\":\"y\"}]}";

/* A whole call; -ENOMEM or a checked plan. Lack of memory in jansson and expat is a refusal. */
static int plan_once(const char *text, bool contention, struct plan_refusal *refusal)
{
	struct dag_options how = { .steps = 50 };
	struct dag_machine *machine = NULL;
	struct dag_problem *problem = NULL;
	struct dag_graph *graph = NULL;
	struct dag_plan plan = { 0 };
	struct dag_draft draft;
	int err = dag_draft_begin(&draft);

	if (!err)
		err = dag_read(text, strlen(text), &draft, refusal);
	if (!err)
		err = dag_graph_make(&draft, &graph, refusal);
	dag_draft_end(&draft);
	if (!err)
		err = dag_machine_read(machine_text, strlen(machine_text), 1, 0, &machine, refusal);
	if (!err)
		err = dag_problem_make(graph, machine, contention, &problem, refusal);
	if (!err)
		err = dag_solve(problem, &how, NULL, &plan);
	if (!err)
		err = dag_check(problem, &plan.schedule, &plan.messages, refusal);
	dag_plan_end(&plan);
	dag_problem_free(problem);
	dag_machine_free(machine);
	dag_graph_free(graph);
	return err;
}

static void test_each_allocation(void **state)
{
	for (size_t i = 0; i < sizeof(graphs) / sizeof(graphs[0]); i++)
		for (int contention = 0; contention < 2; contention++) {
			unsigned int nth = 1;

			for (;; nth++) {
				struct plan_refusal refusal = { 0 };
				int err;

				oom_until = nth;
				err = plan_once(graphs[i], contention, &refusal);
				if (oom_until) { /* it needed fewer */
					oom_until = 0;
					assert_int_equal(err, 0);
					break;
				}
				if (err == -EINVAL)
					assert_non_null(strstr(refusal.what, "JSON"));
				else
					assert_int_equal(err, -ENOMEM);
			}
			assert_true(nth > 40);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
