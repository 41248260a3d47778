// SPDX-License-Identifier: GPL-2.0-or-later
/* What an agent tells of a program and its directory, from what an end has seen. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/agent.h"
#include "base/config.h"
#include "helpers/common/device.h"
#include "job/files.h"
#include "job/looks.h"
#include "wire/seen.h"

/* ehlook, whose answers the test gives */

static struct {
	look_fn done;
	void *ctx;
} asked;

struct look *look_start(struct agent *agent, const struct look_question *q, look_fn done, void *ctx,
			const char **trouble)
{
	asked.done = done;
	asked.ctx = ctx;
	return (struct look *)&asked;
}

void look_digest(struct look *l, look_fn done, void *ctx)
{
	asked.done = done;
	asked.ctx = ctx;
}

void look_end(struct look *l)
{
}

void looks_exit(struct agent *agent)
{
}

enum device_kind device_kind(dev_t dev)
{
	return DEVICE_LOCAL;
}

static void told(void *ctx, const struct files_identity *identity, const char *trouble)
{
	*(int *)ctx += identity != NULL;
}

/* A directory whose path is not UTF-8 cannot be told: nothing is left that somebody could free again. */
static void test_path(void **state)
{
	static const struct config config = { .digest_limit = 1 };
	static struct look_answer answer = { .folder_path = "/", .real = "/bin/true" };
	struct agent agent = { .config = (struct config *)&config };
	const struct seen seen = { .program = answer.program };
	json_t *program, *folder;
	const char *trouble;
	int identities = 0;

	assert_non_null(
		files_identify(&agent, &(struct look_question){ 0 }, told, &identities, &trouble));
	asked.done(asked.ctx, &answer, NULL);
	asked.done(asked.ctx, &answer, NULL);
	assert_int_equal(identities, 1);

	assert_true(files_identify_seen(&agent, &seen, 0, "/tmp", &program, &folder));
	json_decref(program);
	json_decref(folder);
	assert_false(files_identify_seen(&agent, &seen, 0, "/tmp/\xff", &program, &folder));
	assert_null(program);
	assert_null(folder);
	files_exit(&agent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
