// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages about credits come back from JSON as they went in; others are refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cluster/idle_message.h"
#include "random.h"

static const struct eh_topology topology = { 3, 3 };

static uint64_t number(void)
{
	return random_64() & IDLE_NUMBER_MAX & (random_below(2) ? UINT64_MAX : 0xffff);
}

static struct eh_credit credit(void)
{
	return (struct eh_credit){ random_below(1 << 9), random_below(EH_TIERS),
				   random_64() & IDLE_LIFE_MAX, number() };
}

static void fill_offer(struct eh_idle_message *m)
{
	struct eh_credit_range *r = &m->offer.credits.range;

	m->offer.credits.life = random_64() & IDLE_LIFE_MAX;
	m->offer.credits.version = number();
	m->offer.reign = number();
	m->offer.beat = random_below(2);
	m->offer.credits.tasks = (uint32_t)number();
	m->offer.credits.processors = 1 + (uint32_t)number() / 2;
	do {
		r->first = number() / 2;
		r->end = r->first + random_below(EH_CREDIT_WINDOW + 1);
		r->void_ = random_64();
	} while (!eh_offer_is_sound(&m->offer.credits));
}

/* A message of any kind. */
static void fill(struct eh_idle_message *m)
{
	memset(m, 0, sizeof(*m));
	m->type = random_below(EH_IDLE_RETURN + 1);
	m->level = random_below(4);
	switch (m->type) {
	case EH_IDLE_OFFER:
		fill_offer(m);
		break;
	case EH_IDLE_TAKEN:
		m->taken.life = random_64() & IDLE_LIFE_MAX;
		m->taken.reign = number();
		m->taken.next = number();
		break;
	case EH_IDLE_SOME:
		m->some.version = number();
		m->some.best =
			(struct eh_best){ random_below(EH_TIERS + 1), random_below(EH_MANY + 1) };
		break;
	case EH_IDLE_ASK:
		m->ask.id = random_64();
		m->ask.home = random_below(1 << 9);
		m->ask.hold_ms = random_below(IDLE_HOLD_MAX_MS + 1);
		m->ask.tier = random_below(EH_TIERS);
		m->ask.hops = random_below(EH_IDLE_HOPS_MAX + 1);
		m->ask.down = random_below(2);
		m->ask.missed = random_below(2);
		break;
	case EH_IDLE_ANSWER:
		m->answer.id = random_64();
		m->answer.found = random_below(2);
		if (m->answer.found)
			m->answer.credit = credit();
		break;
	case EH_IDLE_RETURN:
		m->credit = credit();
		break;
	}
}

static json_t *through_text(json_t *body)
{
	char *text = json_dumps(body, JSON_COMPACT);
	json_t *again;

	assert_non_null(text);
	again = json_loads(text, 0, NULL);
	assert_non_null(again);
	free(text);
	json_decref(body);
	return again;
}

static void test_there_and_back(void **state)
{
	for (unsigned int k = 0; k < 20000; k++) {
		struct eh_idle_message m, got;
		json_t *body, *again;

		fill(&m);
		body = through_text(idle_message_to_json(&topology, &m));
		assert_int_equal(idle_message_from_json(&topology, body, &got), 0);
		assert_int_equal(got.type, m.type);
		assert_int_equal(got.level, m.level);
		/* what it becomes again says that nothing was lost */
		again = idle_message_to_json(&topology, &got);
		assert_true(json_equal(body, again));
		if (m.type == EH_IDLE_ANSWER && m.answer.found)
			assert_memory_equal(&m.answer.credit, &got.answer.credit,
					    sizeof(m.answer.credit));
		if (m.type == EH_IDLE_OFFER)
			assert_memory_equal(&m.offer.credits, &got.offer.credits,
					    sizeof(m.offer.credits));
		json_decref(again);
		json_decref(body);
	}
}

/* Each member of each type: absent, of another type, or out of its bounds. */
static void test_bad(void **state)
{
	static const char *const optional[] = { "beat", "down", "missed", "credit", "node" };

	for (unsigned int k = 0; k < 2000; k++) {
		struct eh_idle_message m, got;
		json_t *body, *value;
		const char *name;
		void *next;

		fill(&m);
		body = idle_message_to_json(&topology, &m);
		json_object_foreach_safe(body, next, name, value) {
			json_t *bad = json_deep_copy(body);
			bool may_lack = false;

			for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++)
				may_lack |= !strcmp(name, optional[i]);
			if (!may_lack) {
				json_object_del(bad, name);
				assert_int_equal(idle_message_from_json(&topology, bad, &got),
						 -EINVAL);
				json_object_set_new(bad, name, json_real(0.5));
				assert_int_equal(idle_message_from_json(&topology, bad, &got),
						 -EINVAL);
			}
			/* an id may be any number */
			if (json_is_integer(value) && strcmp(name, "id")) {
				json_object_set_new(bad, name, json_integer(-1));
				assert_int_equal(idle_message_from_json(&topology, bad, &got),
						 -EINVAL);
				json_object_set_new(bad, name, json_integer(INT64_MAX));
				assert_int_equal(idle_message_from_json(&topology, bad, &got),
						 -EINVAL);
			}
			json_decref(bad);
		}
		json_decref(body);
	}
}

static void test_bad_credit(void **state)
{
	static const char *const bad[] = {
		"{}",
		"[]",
		"{\"tier\":16,\"life\":1,\"serial\":1}",
		"{\"tier\":0,\"life\":-1,\"serial\":1}",
		"{\"tier\":0,\"life\":1}",
		"{\"tier\":0,\"life\":1,\"serial\":4611686018427387904}",
	};
	struct eh_credit out;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *json = json_loads(bad[i], 0, NULL);

		assert_non_null(json);
		assert_int_equal(idle_credit_from_json(json, 1, &out), -EINVAL);
		json_decref(json);
	}
	assert_int_equal(idle_credit_from_json(NULL, 1, &out), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_bad_credit),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
