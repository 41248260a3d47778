// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who may say what: each row of the table "Who may send what" in docs/protocol.md, in EH(2,2). Node
 * 0 is the top and leads 0 to 3, node 4 leads 4 to 7.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "eh/member.h"

#define HEARTBEAT 1000

struct scene {
	struct eh_member *member;
	uint64_t now;
	unsigned int sent, answered;
	uint32_t to; /* of the last message sent */
};

static void on_update(void *ctx, const struct eh_member_update *up)
{
	struct scene *s = ctx;

	if (up->type == EH_MU_SEND) {
		s->sent++;
		s->to = up->node;
	} else if (up->type == EH_MU_ANSWER) {
		s->answered++;
	}
}

static int step(struct scene *s, const struct eh_member_event *event)
{
	return eh_member_step(s->member, event, s->now, on_update, s);
}

static int hear(struct scene *s, uint32_t from, const struct eh_message *msg)
{
	return step(s,
		    &(struct eh_member_event){ .type = EH_ME_MESSAGE, .message = { from, msg } });
}

static int hear_type(struct scene *s, uint32_t from, enum eh_message_type type, unsigned int level)
{
	return hear(s, from, &(struct eh_message){ .type = type, .level = level });
}

static void begin(struct scene *s, uint32_t self)
{
	const struct eh_member_options options = {
		.topology = { 2, 2 },
		.self = self,
		.heartbeat_ms = HEARTBEAT,
		.grant_ms = HEARTBEAT,
		.calm_ms = HEARTBEAT,
		.seed = 1,
	};

	*s = (struct scene){ .member = eh_member_new(&options), .now = 10 };
	assert_non_null(s->member);
}

static void tick(struct scene *s)
{
	s->now += HEARTBEAT / 8 + 1;
	assert_int_equal(step(s, &(struct eh_member_event){ .type = EH_ME_TICK }), 0);
}

/* Node 5 below node 4. */
static void begin_child(struct scene *s)
{
	begin(s, 5);
	assert_int_equal(step(s, &(struct eh_member_event){ .type = EH_ME_KNOWN, .node = 4 }), 0);
	tick(s);
	assert_int_equal(hear_type(s, 4, EH_MSG_ORDER, 1), 0);
	assert_int_equal(eh_member_parent(s->member), 4);
}

/* Node 0 with its two groups. */
static void begin_top(struct scene *s)
{
	begin(s, 0);
	for (int i = 0; i < 8; i++)
		tick(s);
	assert_int_equal(eh_member_rank(s->member), 2);
}

static struct eh_message report_at(unsigned int level)
{
	return (struct eh_message){
		.type = EH_MSG_REPORT,
		.level = level,
		.report = { .own = { 0, 2000, 1000, 1000, 1000, .nodes = 1 } },
	};
}

static void test_report(void **state)
{
	struct eh_message of_node = report_at(1), of_group = report_at(2);
	struct eh_child child;
	struct scene s;
	uint32_t node;

	begin_top(&s);
	assert_int_equal(hear(&s, 1, &of_node), 0);
	assert_int_equal(hear(&s, 4, &of_node), -EPERM);
	of_group.report.best[0] = (struct eh_candidate){ 6, 0, 2000, 1000, false };
	of_group.report.nbest = 1;
	assert_int_equal(hear(&s, 4, &of_group), 0);
	/* a place in another group than its own */
	of_group.report.best[0].node = 1;
	assert_int_equal(hear(&s, 4, &of_group), -EPERM);
	of_group.report.best[0].node = 8;
	assert_int_equal(hear(&s, 4, &of_group), -EPERM);
	assert_int_equal(eh_member_child(s.member, 2, 1, &child, &node), 0);
	assert_int_equal(node, 4);
	eh_member_free(s.member);
}

static void test_order(void **state)
{
	struct scene s;

	begin_child(&s);
	assert_int_equal(hear_type(&s, 0, EH_MSG_ORDER, 1), -EPERM);
	assert_int_equal(eh_member_parent(s.member), 4);
	/* a higher node does not lead this one */
	assert_int_equal(hear_type(&s, 6, EH_MSG_ORDER, 1), 0);
	assert_int_equal(eh_member_parent(s.member), 4);
	eh_member_free(s.member);
}

static void test_claim(void **state)
{
	struct scene s;

	begin_child(&s);
	s.sent = 0;
	assert_int_equal(hear_type(&s, 0, EH_MSG_CLAIM, 1), -EPERM);
	assert_int_equal(hear_type(&s, 8, EH_MSG_CLAIM, 1), -EPERM);
	assert_int_equal(s.sent, 0);
	assert_int_equal(eh_member_parent(s.member), 4);
	eh_member_free(s.member);
}

static void test_redirect(void **state)
{
	struct eh_message msg = { .type = EH_MSG_REDIRECT, .level = 1, .redirect = { 5 } };
	struct scene s;

	begin(&s, 5);
	/* nobody has asked these: they do not make it lead */
	assert_int_equal(hear(&s, 6, &msg), 0);
	assert_int_equal(hear(&s, 0, &msg), 0);
	assert_int_equal(eh_member_rank(s.member), 0);
	eh_member_free(s.member);

	begin_child(&s);
	msg.redirect.to = 7;
	assert_int_equal(hear(&s, 6, &msg), 0);
	assert_int_equal(eh_member_parent(s.member), 4);
	eh_member_free(s.member);
}

static struct eh_message ask_of(uint32_t home, unsigned int level)
{
	return (struct eh_message){
		.type = EH_MSG_ASK,
		.level = level,
		.ask = { .id = 7,
			 .size = 1000,
			 .home = home,
			 .at_home = { 9000, 2000, 1000, 1000, 1000, 1 } },
	};
}

static void test_ask(void **state)
{
	struct eh_message node = report_at(1), msg = ask_of(1, 1);
	struct scene s;

	begin_top(&s);
	assert_int_equal(hear(&s, 1, &node), 0);
	assert_int_equal(hear(&s, 2, &node), 0);
	assert_int_equal(hear(&s, 1, &msg), 0);
	/* for another node of the group */
	assert_int_equal(hear(&s, 2, &msg), -EPERM);
	/* from another group */
	msg = ask_of(4, 1);
	assert_int_equal(hear(&s, 4, &msg), -EPERM);
	/* a controller asks for its nodes */
	msg = ask_of(6, 2);
	msg.ask.route[msg.ask.nroute++] = 6;
	msg.ask.route[msg.ask.nroute++] = 4;
	assert_int_equal(hear(&s, 4, &msg), 0);
	assert_int_equal(s.to, 4);
	/* and not for those of others */
	msg = ask_of(1, 2);
	msg.ask.route[msg.ask.nroute++] = 4;
	assert_int_equal(hear(&s, 4, &msg), -EPERM);
	/* nor is the answer sent to others */
	msg = ask_of(6, 2);
	msg.ask.route[msg.ask.nroute++] = 1;
	msg.ask.route[msg.ask.nroute++] = 4;
	assert_int_equal(hear(&s, 4, &msg), -EPERM);
	msg.ask.nroute = 0;
	assert_int_equal(hear(&s, 4, &msg), -EPERM);
	eh_member_free(s.member);
}

static void test_answer(void **state)
{
	struct eh_message msg = { .type = EH_MSG_ANSWER,
				  .level = 1,
				  .answer = { .ask = ask_of(5, 1).ask, .to = 7 } };
	struct scene s;

	begin_child(&s);
	/* only who was asked may answer */
	assert_int_equal(hear(&s, 7, &msg), 0);
	assert_int_equal(hear(&s, 0, &msg), 0);
	assert_int_equal(s.answered, 0);
	msg.answer.ask.route[msg.answer.ask.nroute++] = 6;
	s.sent = 0;
	assert_int_equal(hear(&s, 7, &msg), 0);
	assert_int_equal(s.sent, 0);
	msg.answer.ask.nroute = 0;
	assert_int_equal(hear(&s, 4, &msg), 0);
	assert_int_equal(s.answered, 1);
	/* the one that led it until now, for a while */
	assert_int_equal(step(&s, &(struct eh_member_event){ .type = EH_ME_GONE, .node = 4 }), 0);
	assert_int_equal(hear(&s, 4, &msg), 0);
	assert_int_equal(s.answered, 2);
	s.now += 4ull * HEARTBEAT;
	assert_int_equal(hear(&s, 4, &msg), 0);
	assert_int_equal(s.answered, 2);
	eh_member_free(s.member);
}

static void test_failed(void **state)
{
	struct eh_message msg = { .type = EH_MSG_FAILED, .level = 1, .failed = { 7, 2 } };
	struct scene s;

	begin_top(&s);
	assert_int_equal(hear(&s, 1, &msg), 0);
	assert_int_equal(hear(&s, 4, &msg), -EPERM);
	msg.failed.to = 6;
	assert_int_equal(hear(&s, 1, &msg), -EPERM);
	msg.level = 2;
	assert_int_equal(hear(&s, 4, &msg), 0);
	eh_member_free(s.member);
}

/* A member tells only of its own end. */
static void test_leave(void **state)
{
	struct eh_message node = report_at(1);
	struct eh_child child;
	struct scene s;
	uint32_t at;

	begin_top(&s);
	assert_int_equal(hear(&s, 1, &node), 0);
	assert_int_equal(hear_type(&s, 2, EH_MSG_LEAVE, 1), 0);
	assert_int_equal(eh_member_child(s.member, 1, 1, &child, &at), 0);
	assert_int_equal(hear_type(&s, 1, EH_MSG_LEAVE, 1), 0);
	assert_int_equal(eh_member_child(s.member, 1, 1, &child, &at), -ENOENT);
	eh_member_free(s.member);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report), cmocka_unit_test(test_order),
		cmocka_unit_test(test_claim),  cmocka_unit_test(test_redirect),
		cmocka_unit_test(test_ask),    cmocka_unit_test(test_answer),
		cmocka_unit_test(test_failed), cmocka_unit_test(test_leave),
	};

	return cmocka_run_group_tests_name("may", tests, NULL, NULL);
}
