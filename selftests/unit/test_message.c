// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages of the hierarchy come back from JSON as they went in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cluster/message.h"
#include "random.h"

static const struct eh_topology topology = { 3, 3 };

static uint64_t value(void)
{
	return random_64() & (EH_VALUE_MAX - 1) & (random_below(2) ? UINT64_MAX : 0xffff);
}

static uint32_t node(void)
{
	return random_below(1 << 9);
}

static void fill_report(struct eh_message_report *msg, uint64_t *seen)
{
	msg->own = (struct eh_report){ value(),		value(),	value(),
				       value(),		1 + value(),	1 + random_below(512),
				       random_below(2), random_below(2) };
	msg->nbest = random_below(EH_BEST_MAX + 1);
	for (size_t i = 0; i < msg->nbest; i++)
		msg->best[i] =
			(struct eh_candidate){ node(), value(), value(), value(), random_below(2) };
	msg->nseen = random_below(EH_SEEN_MAX + 1);
	for (size_t i = 0; i < msg->nseen; i++)
		seen[i] = random_64();
	msg->seen = seen;
}

static void fill_ask(struct eh_message_ask *msg)
{
	msg->id = random_64();
	msg->size = value();
	msg->home = node();
	msg->at_home = (struct eh_report){ value(), value(), value(), value(),
					   value(), 1,	     false,   random_below(2) };
	msg->probes = random_below(100);
	msg->leaves = random_below(2);
	msg->ntried = random_below(EH_TRIED_MAX + 1);
	for (size_t i = 0; i < msg->ntried; i++)
		msg->tried[i] = node();
	msg->nroute = random_below(EH_ROUTE_MAX + 1);
	for (size_t i = 0; i < msg->nroute; i++)
		msg->route[i] = node();
	msg->npath = random_below(EH_ROUTE_MAX + 1);
	for (size_t i = 0; i < msg->npath; i++)
		msg->path[i] = (struct eh_probe){ 1 + random_below(3), node(), random_below(3) };
}

/* A message of any kind. */
static void fill(struct eh_message *msg, uint64_t *seen)
{
	msg->level = 1 + random_below(3);
	if (random_below(3))
		msg->rule = (struct eh_rule){ value(), value(), 1 + value() };
	switch (msg->type) {
	case EH_MSG_REPORT:
		fill_report(&msg->report, seen);
		break;
	case EH_MSG_REDIRECT:
		msg->redirect.to = node();
		break;
	case EH_MSG_ASK:
		fill_ask(&msg->ask);
		break;
	case EH_MSG_ANSWER:
		fill_ask(&msg->answer.ask);
		msg->answer.to = random_below(2) ? EH_NO_NODE : node();
		msg->answer.why = random_below(4);
		break;
	case EH_MSG_FAILED:
		msg->failed = (struct eh_message_failed){ random_64(), node() };
		break;
	default:
		break;
	}
}

static void same(const struct eh_message *a, const struct eh_message *b)
{
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->level, b->level);
	assert_memory_equal(&a->rule, &b->rule, sizeof(a->rule));
	switch (a->type) {
	case EH_MSG_REPORT:
		assert_int_equal(a->report.nseen, b->report.nseen);
		assert_memory_equal(a->report.seen, b->report.seen,
				    a->report.nseen * sizeof(a->report.seen[0]));
		break;
	case EH_MSG_REDIRECT:
		assert_int_equal(a->redirect.to, b->redirect.to);
		break;
	case EH_MSG_ASK:
		assert_int_equal(a->ask.id, b->ask.id);
		assert_int_equal(a->ask.leaves, b->ask.leaves);
		break;
	case EH_MSG_ANSWER:
		assert_int_equal(a->answer.ask.id, b->answer.ask.id);
		assert_int_equal(a->answer.to, b->answer.to);
		assert_int_equal(a->answer.why, b->answer.why);
		break;
	case EH_MSG_FAILED:
		assert_int_equal(a->failed.id, b->failed.id);
		assert_int_equal(a->failed.to, b->failed.to);
		break;
	default:
		break;
	}
}

static void test_round_trip(void **state)
{
	random_begin();
	for (int i = 0; i < 3000; i++) {
		struct eh_message msg = { .type = i % EH_MSG_TYPES };
		uint64_t seen[EH_SEEN_MAX];
		struct message back;
		json_t *json, *again;

		fill(&msg, seen);
		json = message_to_json(&topology, &msg);
		assert_non_null(json);
		assert_int_equal(message_from_json(&topology, json, &back), 0);
		same(&msg, &back.body);
		/* all the rest: what is written again is the same */
		again = message_to_json(&topology, &back.body);
		assert_true(json_equal(json, again));
		json_decref(json);
		json_decref(again);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_round_trip) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
