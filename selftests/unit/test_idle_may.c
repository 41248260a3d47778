// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who may say what about credits: each row of the table in docs/protocol.md, in EH(2,2). Node 0 is
 * the top and leads 0 to 3, node 4 leads 4 to 7.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "eh/idle_may.h"
#include "idle_look.h"

static const struct eh_topology shape = { 2, 2 };

static bool may(uint32_t self, uint32_t from, struct eh_idle_message m)
{
	return eh_idle_may_say(&shape, self, from, &m);
}

static struct eh_idle_message offer(uint64_t first, uint64_t end, uint64_t bits)
{
	return (struct eh_idle_message){
		.type = EH_IDLE_OFFER,
		.level = 1,
		.offer = { .credits = { .life = 1,
					.version = 1,
					.processors = 1,
					.range = { first, end, bits } } },
	};
}

static void test_offer(void **state)
{
	assert_true(may(0, 3, offer(1, 2, 0)));
	assert_false(may(0, 4, offer(1, 2, 0))); /* of another group */
	assert_false(may(4, 3, offer(1, 2, 0)));
	assert_true(may(0, 3, offer(7, 7 + EH_CREDITS, 0)));
	assert_false(may(0, 3, offer(7, 8 + EH_CREDITS, 0))); /* more than a node gives */
	assert_true(may(0, 3, offer(7, 8 + EH_CREDITS, 1)));
	assert_false(may(0, 3, offer(2, 1, 0)));
	assert_false(may(0, 3, offer(0, EH_CREDIT_WINDOW + 1, ~0ull)));
}

static void test_taken_and_some(void **state)
{
	const struct eh_idle_message taken = { .type = EH_IDLE_TAKEN, .level = 1 };
	struct eh_idle_message some = { .type = EH_IDLE_SOME, .level = 2, .some = { 1, { 0, 3 } } };

	assert_true(may(5, 4, taken));
	assert_false(may(5, 0, taken));
	assert_true(may(0, 4, some));
	some.level = 1;
	assert_false(may(0, 1, some));
	some.level = 3;
	assert_false(may(0, 4, some));
}

static struct eh_idle_message ask(unsigned int level, uint32_t home, bool down, bool missed)
{
	return (struct eh_idle_message){
		.type = EH_IDLE_ASK,
		.level = level,
		.ask = { .id = 1, .home = home, .down = down, .missed = missed }
	};
}

static void test_ask(void **state)
{
	struct eh_idle_message m = ask(1, 3, false, false);

	assert_true(may(0, 3, m));
	assert_false(may(0, 2, m)); /* for another's exec */
	assert_false(may(0, 7, ask(1, 7, false, false))); /* of another group */
	assert_true(may(0, 4, ask(2, 6, false, false)));
	assert_false(may(4, 0, ask(1, 6, false, false)));
	assert_true(may(0, 4, ask(2, 3, false, true))); /* it comes back */
	assert_false(may(0, 2, ask(1, 3, false, true)));
	assert_true(may(4, 0, ask(1, 3, true, false)));
	assert_false(may(4, 0, ask(2, 3, true, false))); /* nobody is above the top */
	assert_false(may(0, 3, ask(0, 3, false, false)));
	m.ask.tier = EH_TIERS;
	assert_false(may(0, 3, m));
}

/* Credits of the sender's own group, to home; unused ones, to their node. */
static void test_answer_and_return(void **state)
{
	struct eh_idle_message answer = { .type = EH_IDLE_ANSWER,
					  .answer = { 1, true, { .node = 6 } } };
	const struct eh_idle_message back = { .type = EH_IDLE_RETURN, .credit = { .node = 6 } };

	assert_true(may(3, 4, answer));
	assert_false(may(3, 0, answer));
	answer.answer.found = false;
	assert_true(may(3, 0, answer));
	assert_true(may(6, 3, back));
	assert_false(may(5, 3, back));
}

/* A node's own rules by its steps, and what a liar's offer is worth: tasks for itself, as many as credits. */
static struct eh_credit answered;
static unsigned int found;

static void on_update(void *ctx, const struct eh_idle_update *up)
{
	if (up->type == EH_IDLE_SEND && up->message->type == EH_IDLE_ANSWER &&
	    up->message->answer.found) {
		found++;
		answered = up->message->answer.credit;
	}
	if (up->type == EH_IDLE_SEND && up->message->type == EH_IDLE_TAKEN)
		*(uint64_t *)ctx = up->message->taken.reign;
}

static void test_own_only(void **state)
{
	const struct eh_idle_options options = { .topology = shape,
						 .life = 1,
						 .processors = 1,
						 .heartbeat_ms = 1000,
						 .lease_ms = 1000,
						 .seed = 1 };
	struct eh_idle *idle = eh_idle_new(&options);
	struct eh_idle_message m = offer(1, 1 + EH_CREDITS, 0);
	struct eh_idle_event event = { .type = EH_IDLE_ROLE,
				       .role = { .rank = 1, .parent = UINT32_MAX } };
	uint64_t reign = 0;

	m.offer.credits.processors = 1000000;
	assert_non_null(idle);
	assert_int_equal(eh_idle_step(idle, &event, 1, on_update, &reign), 0);
	event = (struct eh_idle_event){ .type = EH_IDLE_TASKS, .tasks = 5 };
	assert_int_equal(eh_idle_step(idle, &event, 1, on_update, &reign), 0);
	event = (struct eh_idle_event){ .type = EH_IDLE_MESSAGE, .message = { 9, &m } };
	assert_int_equal(eh_idle_step(idle, &event, 2, on_update, &reign), -EPERM);
	assert_int_equal(idle_credits(idle, 0), 0);
	event.message.from = 3;
	assert_int_equal(eh_idle_step(idle, &event, 2, on_update, &reign), 0);
	assert_true(reign);
	m.offer.reign = reign;
	assert_int_equal(eh_idle_step(idle, &event, 2, on_update, &reign), 0);
	assert_int_equal(idle_credits(idle, 0), EH_CREDITS);
	for (unsigned int k = 1; k <= EH_CREDITS; k++) {
		struct eh_idle_message want = ask(1, 2, false, false);

		event = (struct eh_idle_event){ .type = EH_IDLE_MESSAGE, .message = { 2, &want } };
		assert_int_equal(eh_idle_step(idle, &event, 3, on_update, &reign), 0);
		assert_int_equal(found, k);
		assert_int_equal(answered.node, 3);
	}
	eh_idle_free(idle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offer),	 cmocka_unit_test(test_taken_and_some),
		cmocka_unit_test(test_ask),	 cmocka_unit_test(test_answer_and_return),
		cmocka_unit_test(test_own_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
