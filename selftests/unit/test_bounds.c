// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What another member says is bounded in size, and none of it stays in force for ever: messages at
 * and beside each limit of a number, from those who may say them and from those who may not.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "eh/member.h"

#define HEARTBEAT 1000

struct scene {
	struct eh_member *member;
	uint64_t now, threshold;
	unsigned int sent[EH_MSG_TYPES];
};

static void on_update(void *ctx, const struct eh_member_update *up)
{
	struct scene *s = ctx;

	if (up->type == EH_MU_THRESHOLD)
		s->threshold = up->threshold;
	else if (up->type == EH_MU_SEND)
		s->sent[up->message->type]++;
}

static int step(struct scene *s, const struct eh_member_event *event)
{
	return eh_member_step(s->member, event, s->now, on_update, s);
}

static void tick(struct scene *s, unsigned int ms)
{
	for (; ms >= HEARTBEAT / 8; ms -= HEARTBEAT / 8) {
		s->now += HEARTBEAT / 8;
		assert_int_equal(step(s, &(struct eh_member_event){ .type = EH_ME_TICK }), 0);
	}
}

static void begin(struct scene *s, uint32_t self, unsigned int levels)
{
	const struct eh_member_options options = {
		.topology = { 2, levels },
		.self = self,
		.heartbeat_ms = HEARTBEAT,
		.grant_ms = HEARTBEAT,
		.calm_ms = 2 * HEARTBEAT,
		.least = true,
		.seed = 1,
	};
	const struct eh_report own = {
		.threshold = 2000, .length = 1000, .floor = 1000, .capacity = 1000, .nodes = 1
	};

	*s = (struct scene){ .member = eh_member_new(&options), .now = 10 };
	assert_non_null(s->member);
	assert_int_equal(
		step(s, &(struct eh_member_event){ .type = EH_ME_LOAD, .load = { .own = own } }),
		0);
}

static void end(struct scene *s)
{
	eh_member_free(s->member);
}

static int hear(struct scene *s, uint32_t from, const struct eh_message *msg)
{
	return step(s,
		    &(struct eh_member_event){ .type = EH_ME_MESSAGE, .message = { from, msg } });
}

static int hear_order(struct scene *s, uint32_t from, struct eh_rule rule)
{
	return hear(s, from,
		    &(struct eh_message){ .type = EH_MSG_ORDER, .level = 1, .rule = rule });
}

/* A node like all others here. */
static struct eh_message report_of(uint64_t load, unsigned int level)
{
	return (struct eh_message){
		.type = EH_MSG_REPORT,
		.level = level,
		.report = { .own = { load, 2000, 1000, 1000, 1000, .nodes = 1 } },
	};
}

static void assert_epoch(const struct scene *s, uint64_t epoch)
{
	assert_int_equal(eh_member_rule(s->member).epoch, epoch);
}

/* Node 1 of a group of four, with node 0 as its controller. */
static void begin_child(struct scene *s)
{
	begin(s, 1, 1);
	for (uint32_t i = 0; i < 4; i++)
		if (i != 1)
			step(s, &(struct eh_member_event){ .type = EH_ME_KNOWN, .node = i });
	tick(s, HEARTBEAT / 4);
	assert_int_equal(hear_order(s, 0, (struct eh_rule){ 5, 12000, 4000 }), 0);
	assert_int_equal(eh_member_parent(s->member), 0);
	assert_epoch(s, 5);
	assert_int_equal(s->threshold, 3000);
}

static void begin_top(struct scene *s)
{
	begin(s, 0, 1);
	tick(s, HEARTBEAT);
	assert_int_equal(eh_member_rank(s->member), 1);
}

/* Whatever a node that is not the parent says, its rule counts nothing. */
static void test_strange_rules(void **state)
{
	struct scene s;

	begin_child(&s);
	for (enum eh_message_type type = 0; type < EH_MSG_TYPES; type++) {
		struct eh_message msg = report_of(1000, 1);

		msg.type = type;
		if (type == EH_MSG_REDIRECT)
			msg.redirect.to = 0;
		else if (type != EH_MSG_REPORT)
			memset(&msg.report, 0, sizeof(msg.report));
		for (int i = 0; i < 3; i++) {
			msg.rule = (struct eh_rule){ EH_EPOCH_MAX - 2 + i, EH_VALUE_MAX, 1 };
			hear(&s, 3, &msg);
			msg.rule = (struct eh_rule){ 6 + i, 1, EH_VALUE_MAX };
			hear(&s, 3, &msg);
			tick(&s, HEARTBEAT / 4);
			hear_order(&s, 0, (struct eh_rule){ 5, 12000, 4000 });
		}
		assert_epoch(&s, 5);
		assert_int_equal(s.threshold, 3000);
	}
	end(&s);
}

/* No epoch of the parent's keeps the next one out. */
static void test_last_epoch(void **state)
{
	struct scene s;

	begin_child(&s);
	assert_int_equal(hear_order(&s, 0, (struct eh_rule){ EH_EPOCH_MAX + 1, 4000, 4000 }),
			 -EINVAL);
	assert_int_equal(hear_order(&s, 0, (struct eh_rule){ UINT64_MAX, 4000, 4000 }), -EINVAL);
	assert_int_equal(hear_order(&s, 0, (struct eh_rule){ 0, 4000, 4000 }), -EINVAL);
	assert_epoch(&s, 5);
	assert_int_equal(hear_order(&s, 0, (struct eh_rule){ EH_EPOCH_MAX, 8000, 4000 }), 0);
	assert_epoch(&s, EH_EPOCH_MAX);
	/* once it may have been overtaken */
	assert_int_equal(hear_order(&s, 0, (struct eh_rule){ 1, 16000, 4000 }), 0);
	assert_epoch(&s, EH_EPOCH_MAX);
	assert_int_equal(hear_order(&s, 0, (struct eh_rule){ EH_EPOCH_MAX, 8000, 4000 }), 0);
	tick(&s, HEARTBEAT);
	assert_int_equal(hear_order(&s, 0, (struct eh_rule){ 1, 16000, 4000 }), 0);
	assert_epoch(&s, EH_EPOCH_MAX);
	/* said again, it is meant */
	tick(&s, HEARTBEAT);
	assert_int_equal(hear_order(&s, 0, (struct eh_rule){ 1, 16000, 4000 }), 0);
	assert_epoch(&s, 1);
	assert_int_equal(s.threshold, 4000);
	end(&s);
}

/* The largest rule that is taken sets no threshold above what a node can have. */
static void test_largest_rule(void **state)
{
	struct scene s;

	begin_child(&s);
	assert_int_equal(hear_order(&s, 0, (struct eh_rule){ 6, EH_VALUE_MAX + 1, 1 }), -EINVAL);
	assert_int_equal(hear_order(&s, 0, (struct eh_rule){ 6, 1, EH_VALUE_MAX + 1 }), -EINVAL);
	assert_int_equal(hear_order(&s, 0, (struct eh_rule){ 6, EH_VALUE_MAX, 1 }), 0);
	assert_int_equal(s.threshold, EH_NODE_MAX);
	assert_int_equal(hear_order(&s, 0, (struct eh_rule){ 7, 12000, 4000 }), 0);
	assert_int_equal(s.threshold, 3000);
	end(&s);
}

/* A new top takes the epoch that its first child says, and counts on from there. */
static void test_top_after_last_epoch(void **state)
{
	struct eh_message report = report_of(9000, 1);
	struct scene s;

	begin_top(&s);
	report.rule = (struct eh_rule){ EH_EPOCH_MAX, 4000, 2000 };
	assert_int_equal(hear(&s, 1, &report), 0);
	assert_epoch(&s, EH_EPOCH_MAX);
	/* which no other child changes */
	report.rule = (struct eh_rule){ 7, 4, 2000 };
	assert_int_equal(hear(&s, 2, &report), 0);
	assert_epoch(&s, EH_EPOCH_MAX);
	/* the group is a sender: a task makes the next rule */
	assert_int_equal(hear(&s, 1,
			      &(struct eh_message){
				      .type = EH_MSG_ASK,
				      .level = 1,
				      .ask = { .id = 1,
					       .size = 1000,
					       .home = 1,
					       .at_home = { 9000, 2000, 1000, 1000, 1000, 1 } } }),
			 0);
	assert_epoch(&s, 1);
	assert_int_equal(eh_member_rule(s.member).capacity, 3000);
	end(&s);
}

/* A child's rule changes nothing at a controller that has one. */
static void test_rule_from_below(void **state)
{
	struct eh_message report = report_of(0, 1);
	struct scene s;

	begin_top(&s);
	report.rule = (struct eh_rule){ 3, 6000, 2000 };
	assert_int_equal(hear(&s, 1, &report), 0);
	assert_epoch(&s, 3);
	for (uint64_t epoch = 4; epoch; epoch = epoch == 4 ? EH_EPOCH_MAX : 0) {
		report.rule = (struct eh_rule){ epoch, EH_VALUE_MAX, 1 };
		assert_int_equal(hear(&s, 1, &report), 0);
		assert_true(eh_member_rule(s.member).load <= 6000);
	}
	end(&s);
}

static int hear_report(struct scene *s, uint32_t from, unsigned int level,
		       const struct eh_report *own)
{
	struct eh_message msg = report_of(0, level);

	msg.report.own = *own;
	return hear(s, from, &msg);
}

static void test_reports(void **state)
{
	const struct eh_report good = { 1000, 2000, 1000, 1000, 1000, .nodes = 1 };
	struct eh_report r;
	struct eh_sums sums;
	struct scene s;

	begin_top(&s);
	assert_int_equal(hear_report(&s, 1, 1, &good), 0);
	for (int i = 0; i < 5; i++) {
		static const uint64_t bad[] = { EH_NODE_MAX + 1, 1000000000000, EH_VALUE_MAX,
						EH_VALUE_MAX + 1, UINT64_MAX };

		for (size_t j = 0; j < sizeof(bad) / sizeof(bad[0]); j++) {
			uint64_t *const of[] = { &r.load, &r.threshold, &r.length, &r.floor,
						 &r.capacity };

			r = good;
			*of[i] = bad[j];
			assert_int_equal(hear_report(&s, 1, 1, &r), -EINVAL);
			r = good;
			*of[i] = EH_NODE_MAX;
			assert_int_equal(hear_report(&s, 1, 1, &r), 0);
		}
	}
	r = good;
	r.capacity = 0;
	assert_int_equal(hear_report(&s, 1, 1, &r), -EINVAL);
	r = good;
	r.nodes = 0;
	assert_int_equal(hear_report(&s, 1, 1, &r), -EINVAL);
	r.nodes = 2; /* it is one node */
	assert_int_equal(hear_report(&s, 1, 1, &r), -EINVAL);
	r.nodes = UINT32_MAX;
	assert_int_equal(hear_report(&s, 1, 1, &r), -EINVAL);
	/* and what was said before is over with the next one */
	assert_int_equal(hear_report(&s, 1, 1, &good), 0);
	assert_int_equal(eh_member_sums(s.member, 1, &sums), 0);
	assert_int_equal(sums.load, 1000);
	assert_int_equal(sums.capacity, 2000);
	end(&s);
}

static void test_reports_of_groups(void **state)
{
	struct eh_report r = { 5 * EH_NODE_MAX, 4000, 4000, 4000, 4000, .nodes = 4 };
	struct scene s;

	begin(&s, 0, 2);
	tick(&s, HEARTBEAT);
	assert_int_equal(eh_member_rank(s.member), 2);
	assert_int_equal(hear_report(&s, 4, 2, &r), -EINVAL);
	r.load = 4 * EH_NODE_MAX;
	assert_int_equal(hear_report(&s, 4, 2, &r), 0);
	r.nodes = 5; /* a group has four */
	assert_int_equal(hear_report(&s, 4, 2, &r), -EINVAL);
	end(&s);
}

static void test_asks(void **state)
{
	const struct eh_message good = {
		.type = EH_MSG_ASK,
		.level = 1,
		.ask = { .id = 1,
			 .size = EH_SIZE_MAX,
			 .home = 1,
			 .probes = EH_PROBES_MAX,
			 .at_home = { EH_NODE_MAX, EH_NODE_MAX, EH_NODE_MAX, EH_NODE_MAX,
				      EH_NODE_MAX, 1 } },
	};
	struct eh_message bad = good;
	struct scene s;

	begin_top(&s);
	assert_int_equal(hear(&s, 1, &good), 0);
	bad.ask.size++;
	assert_int_equal(hear(&s, 1, &bad), -EINVAL);
	bad = good;
	bad.ask.probes++;
	assert_int_equal(hear(&s, 1, &bad), -EINVAL);
	bad = good;
	bad.ask.at_home.load++;
	assert_int_equal(hear(&s, 1, &bad), -EINVAL);
	bad = good;
	bad.ask.at_home.threshold++;
	assert_int_equal(hear(&s, 1, &bad), -EINVAL);
	bad = good;
	bad.ask.at_home.capacity++;
	assert_int_equal(hear(&s, 1, &bad), -EINVAL);
	bad.ask.at_home.capacity = 0;
	assert_int_equal(hear(&s, 1, &bad), -EINVAL);
	end(&s);
}

/* One node that asks without end leaves room for others. */
static void test_many_asks(void **state)
{
	struct eh_message msg = {
		.type = EH_MSG_ASK,
		.level = 1,
		.ask = { .home = 1, .at_home = { 0, 2000, 1000, 1000, 1000, 1 } },
	};
	struct eh_message report = report_of(0, 1);
	struct eh_child child;
	struct scene s;
	uint32_t node;

	begin_top(&s);
	assert_int_equal(hear(&s, 1, &report), 0);
	assert_int_equal(hear(&s, 2, &report), 0);
	for (uint64_t id = 0; id < EH_GRANTS_CHILD; id++) {
		msg.ask.id = id;
		assert_int_equal(hear(&s, 1, &msg), 0);
	}
	/* more is not counted, and answered with "no controller" */
	msg.ask.id++;
	assert_int_equal(hear(&s, 1, &msg), -ENOMEM);
	msg.ask.home = 2;
	msg.ask.size = 1;
	msg.ask.id++;
	assert_int_equal(hear(&s, 2, &msg), 0);
	assert_int_equal(eh_member_child(s.member, 1, 2, &child, &node), 0);
	assert_int_equal(child.own.load, 1);
	/* a host that has gone, and is back, has what it asked for before */
	assert_int_equal(hear(&s, 1, &(struct eh_message){ .type = EH_MSG_LEAVE, .level = 1 }), 0);
	assert_int_equal(hear(&s, 1, &report), 0);
	end(&s);
}

static void test_shares(void **state)
{
	assert_int_equal(eh_share(4000, 1000, 4000), 1000);
	assert_int_equal(eh_share(EH_VALUE_MAX, EH_VALUE_MAX, 1), EH_SHARE_MAX);
	assert_int_equal(eh_share(UINT64_MAX, 1, 1), EH_SHARE_MAX);
	assert_int_equal(eh_share(UINT64_MAX, UINT64_MAX, 1), EH_SHARE_MAX);
	assert_true(eh_share(EH_VALUE_MAX, EH_VALUE_MAX, EH_VALUE_MAX) >= EH_VALUE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strange_rules),
		cmocka_unit_test(test_last_epoch),
		cmocka_unit_test(test_largest_rule),
		cmocka_unit_test(test_top_after_last_epoch),
		cmocka_unit_test(test_rule_from_below),
		cmocka_unit_test(test_reports),
		cmocka_unit_test(test_reports_of_groups),
		cmocka_unit_test(test_asks),
		cmocka_unit_test(test_many_asks),
		cmocka_unit_test(test_shares),
	};

	return cmocka_run_group_tests_name("bounds", tests, NULL, NULL);
}
