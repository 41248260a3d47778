// SPDX-License-Identifier: GPL-2.0-or-later
/* What a member refuses: -EINVAL, and nothing has changed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "eh/member.h"

#define FROM 1

static const struct eh_member_options options = {
	.topology = { 3, 2 }, .self = 8, .heartbeat_ms = 1000, .grant_ms = 1000, .seed = 1
};

static void emit(void *ctx, const struct eh_member_update *up)
{
	/* a message to nobody would end a driver */
	assert_true(up->type != EH_MU_SEND || up->node < 64);
}

static int failed(struct eh_member *m, uint32_t to, struct eh_probe decider)
{
	const struct eh_member_event event = { .type = EH_ME_FAILED, .failed = { 7, to, decider } };

	return eh_member_step(m, &event, 0, emit, NULL);
}

/* An answer names who has decided; the failure is told to that node. */
static void test_nobody_decided(void **state)
{
	struct eh_member *m = eh_member_new(&options);

	assert_non_null(m);
	assert_int_equal(failed(m, 1, (struct eh_probe){ 1, 64, EH_OK }), -EINVAL);
	assert_int_equal(failed(m, 1, (struct eh_probe){ 1, EH_NO_NODE, EH_OK }), -EINVAL);
	assert_int_equal(failed(m, 64, (struct eh_probe){ 1, 1, EH_OK }), -EINVAL);
	assert_int_equal(failed(m, 1, (struct eh_probe){ 3, 1, EH_OK }), -EINVAL);
	assert_int_equal(failed(m, 1, (struct eh_probe){ 1, 1, EH_OK }), 0);
	eh_member_free(m);
}

static void test_answer_of_nobody(void **state)
{
	struct eh_message body = { .type = EH_MSG_ANSWER,
				   .level = 1,
				   .answer = { .to = 1, .why = EH_WHY_SENDER } };
	const struct eh_member_event event = { .type = EH_ME_MESSAGE, .message = { FROM, &body } };
	struct eh_member *m = eh_member_new(&options);

	assert_non_null(m);
	body.answer.ask = (struct eh_message_ask){ .id = 7, .size = EH_TASK, .npath = 1 };
	body.answer.ask.path[0] = (struct eh_probe){ 1, 64, EH_OK };
	assert_int_equal(eh_member_step(m, &event, 0, emit, NULL), -EINVAL);
	body.answer.ask.path[0].node = 1;
	assert_int_equal(eh_member_step(m, &event, 0, emit, NULL), 0);
	eh_member_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_decided),
		cmocka_unit_test(test_answer_of_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
