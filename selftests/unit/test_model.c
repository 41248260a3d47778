// SPDX-License-Identifier: GPL-2.0-or-later
/* Random events: the group is what a simple model says, which is told nothing but the events and the updates. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "group_steps.h"
#include "random.h"

struct model_grant {
	uint64_t id, size, deadline;
	unsigned int child;
	bool live;
};

struct model {
	struct model_child {
		bool present, draining, dwell;
		uint64_t load, threshold, length, floor, capacity;
	} child[CHILDREN]; /* load without grants */
	struct model_grant grants[64];
	unsigned int next;
	uint64_t epoch, grant_ms;
	unsigned int size;
};

static uint64_t model_load(const struct model *m, unsigned int child)
{
	uint64_t load = m->child[child].load;

	for (size_t i = 0; i < 64; i++)
		if (m->grants[i].live && m->grants[i].child == child)
			load += m->grants[i].size;
	return load;
}

static enum eh_state model_state(const struct model *m, unsigned int child)
{
	return eh_state_dwell(model_load(m, child), m->child[child].threshold,
			      m->child[child].length, m->child[child].dwell);
}

static void model_settle(struct model *m, uint64_t id, unsigned int child)
{
	for (size_t i = 0; i < 64; i++)
		if (m->grants[i].id == id && m->grants[i].child == child)
			m->grants[i].live = false;
}

static void model_check(const struct model *m, struct eh_group *group)
{
	struct eh_sums sums, own = { .epoch = m->epoch };

	for (unsigned int i = 0; i < m->size; i++) {
		const struct model_child *want = &m->child[i];
		struct eh_child c;

		if (eh_group_child(group, i, &c)) {
			assert_false(want->present);
			continue;
		}
		assert_true(want->present);
		assert_int_equal(c.own.load, model_load(m, i));
		assert_int_equal(c.own.threshold, want->threshold);
		assert_int_equal(c.own.length, want->length);
		assert_int_equal(c.own.floor, want->floor);
		assert_int_equal(c.own.capacity, want->capacity);
		assert_int_equal(c.own.draining, want->draining);
		assert_int_equal(c.own.dwell, want->dwell);
		assert_int_equal(c.state, model_state(m, i));
		own.members++;
		own.nodes++;
		own.floor += c.own.floor;
		own.load += c.own.load;
		own.threshold += c.own.threshold;
		own.length += c.own.length;
		own.capacity += c.own.capacity;
	}
	eh_group_sums(group, &sums);
	assert_int_equal(sums.members, own.members);
	assert_int_equal(sums.load, own.load);
	assert_int_equal(sums.threshold, own.threshold);
	assert_int_equal(sums.length, own.length);
	assert_int_equal(sums.capacity, own.capacity);
	assert_int_equal(sums.epoch, own.epoch);
}

static bool model_eligible(const struct model *m, const struct eh_event *e, unsigned int child)
{
	const uint64_t *tried = e->arrive.tried;

	return m->child[child].present && !m->child[child].draining && child != e->child &&
	       !(tried && tried[0] >> child & 1) && model_state(m, child) != EH_SENDER;
}

/* What a decision must be, whoever was chosen among equals. */
static void model_judge(struct model *m, const struct eh_event *e, const struct eh_update *up,
			bool least, uint64_t now)
{
	assert_int_equal(up->id, e->arrive.id);
	if (up->type == EH_UP_NONE) {
		assert_int_equal(up->calm, model_state(m, e->child) != EH_SENDER);
		for (unsigned int i = 0; !up->calm && i < m->size; i++)
			assert_false(model_eligible(m, e, i));
		if (up->calm)
			m->grants[m->next++ % 64] =
				(struct model_grant){ e->arrive.id, e->arrive.size,
						      now + m->grant_ms, e->child, true };
		return;
	}
	assert_int_equal(model_state(m, e->child), EH_SENDER);
	assert_true(model_eligible(m, e, up->child));
	assert_int_equal(up->found, model_state(m, up->child));
	assert_true(up->probes >= 1 && up->probes <= 2);
	for (unsigned int i = 0; i < m->size; i++) {
		if (!model_eligible(m, e, i))
			continue;
		assert_true(up->found <= model_state(m, i));
		if (least && up->found == model_state(m, i)) {
			uint64_t t = m->child[up->child].threshold, u = m->child[i].threshold;

			assert_true((model_load(m, up->child) + e->arrive.size) * (u ? u : 1) <=
				    (model_load(m, i) + e->arrive.size) * (t ? t : 1));
		}
	}
	m->grants[m->next++ % 64] = (struct model_grant){ e->arrive.id, e->arrive.size,
							  now + m->grant_ms, up->child, true };
}

static void model_apply(struct model *m, const struct eh_event *e, bool least, uint64_t now)
{
	unsigned int told = 0, answers = 0;
	struct model_child *c = &m->child[e->child];

	switch (e->type) {
	case EH_EV_JOIN:
		*c = (struct model_child){ .present = true,
					   .draining = c->present && c->draining,
					   .load = e->join.load,
					   .dwell = e->join.dwell,
					   .threshold = e->join.threshold,
					   .length = e->join.length,
					   .floor = e->join.floor,
					   .capacity = e->join.capacity };
		break;
	case EH_EV_LEAVE:
		for (size_t i = 0; i < 64; i++)
			if (m->grants[i].child == e->child)
				m->grants[i].live = false;
		*c = (struct model_child){ 0 };
		break;
	case EH_EV_DRAIN:
		c->draining = e->drain.draining;
		break;
	case EH_EV_REPORT:
		c->load = e->report.load;
		c->dwell = e->report.dwell;
		for (size_t i = 0; i < e->report.nseen; i++)
			model_settle(m, e->report.seen[i], e->child);
		break;
	case EH_EV_FAILED:
		model_settle(m, e->failed.id, e->child);
		break;
	default:
		break;
	}
	if (e->type != EH_EV_ARRIVE)
		for (size_t i = 0; i < 64; i++)
			if (m->grants[i].deadline <= now)
				m->grants[i].live = false;
	for (unsigned int i = 0; i < group_nupdates; i++) {
		if (group_updates[i].type == EH_UP_THRESHOLD) {
			assert_int_equal(group_updates[i].epoch, m->epoch + 1);
			assert_true(m->child[group_updates[i].child].present);
			m->child[group_updates[i].child].threshold = group_updates[i].threshold;
			told++;
		}
	}
	/* one change a step at most: it cannot go in circles */
	if (told) {
		unsigned int members = 0;

		m->epoch++;
		for (unsigned int i = 0; i < m->size; i++)
			members += m->child[i].present;
		assert_int_equal(told, members);
	}
	for (unsigned int i = 0; i < group_nupdates; i++) {
		if (group_updates[i].type == EH_UP_PLACE || group_updates[i].type == EH_UP_NONE) {
			answers++;
			model_judge(m, e, &group_updates[i], least, now);
		}
	}
	assert_int_equal(answers, e->type == EH_EV_ARRIVE);
}

static struct eh_event random_event(const struct model *m, uint64_t *id, uint64_t *lists)
{
	struct eh_event e = { .type = random_below(EH_EV_TICK + 1),
			      .child = random_below(m->size) };

	if (random_below(3) == 0)
		e.type = EH_EV_ARRIVE;
	if (!m->child[e.child].present && random_below(8))
		e.type = EH_EV_JOIN;
	switch (e.type) {
	case EH_EV_JOIN:
		e.join = (struct eh_report){
			.load = random_below(9000),
			.threshold = random_below(6) * 1000,
			.length = random_below(3) * 500,
			.floor = random_below(3) ? 0 : random_below(3000),
			.capacity = 1 + random_below(4000),
			.dwell = random_below(4) == 0,
		};
		break;
	case EH_EV_DRAIN:
		e.drain.draining = random_below(3) == 0;
		break;
	case EH_EV_REPORT:
		e.report = (struct eh_event_report){
			.load = random_below(9000),
			.dwell = random_below(4) == 0,
			.seen = lists,
			.nseen = random_below(4),
		};
		for (size_t i = 0; i < e.report.nseen; i++)
			lists[i] = *id - random_below(10);
		break;
	case EH_EV_ARRIVE:
		lists[0] = random_64() & random_64();
		e.arrive = (struct eh_event_arrive){
			.id = ++*id,
			.size = random_below(2) ? 1000 : random_below(2500),
			.tried = random_below(2) ? lists : NULL,
		};
		break;
	case EH_EV_FAILED:
		e.failed.id = *id - random_below(20);
		break;
	default:
		break;
	}
	return e;
}

static void test_random_events(void **state)
{
	unsigned int places = 0, changes = 0;

	random_begin();
	for (int round = 0; round < 300; round++) {
		bool least = random_below(2);
		struct model m = { .size = 1u << random_below(6),
				   .grant_ms = 1 + random_below(500) };
		struct eh_group *group;
		uint64_t now = random_below(1000), id = 1000, lists[4];

		group = group_new(__builtin_ctz(m.size), m.grant_ms, least);
		for (int i = 0; i < 400; i++) {
			struct eh_event e = random_event(&m, &id, lists);
			int want = e.type == EH_EV_JOIN || e.type == EH_EV_TICK ||
						   m.child[e.child].present
					   ? 0
					   : -EINVAL;

			now += random_below(20);
			assert_int_equal(group_step(group, e, now), want);
			if (want)
				assert_int_equal(group_nupdates, 0);
			else
				model_apply(&m, &e, least, now);
			model_check(&m, group);
			places += group_update(EH_UP_PLACE) != NULL;
			changes += group_update(EH_UP_THRESHOLD) != NULL;
		}
		eh_group_free(group);
	}
	assert_true(places > 1000 && changes > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
