// SPDX-License-Identifier: GPL-2.0-or-later
/* The decision core of one group: the paper's theorems and rules as properties of random groups. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "eh/eh.h"
#include "random.h"

#define CHILDREN 32 /* most in these tests: n <= 5 */
#define UPDATES (CHILDREN + 8)

/* The updates of the last step. */
static struct eh_update ups[UPDATES];
static unsigned int nups;

static void emit(void *ctx, const struct eh_update *update)
{
	assert_ptr_equal(ctx, ups);
	assert_true(nups < UPDATES);
	ups[nups++] = *update;
}

static int step(struct eh_group *group, struct eh_event event, uint64_t now)
{
	nups = 0;
	return eh_step(group, &event, now, emit, ups);
}

static void must(struct eh_group *group, struct eh_event event, uint64_t now)
{
	assert_int_equal(step(group, event, now), 0);
}

/* The update of this type, or NULL. */
static const struct eh_update *update_of(enum eh_update_type type)
{
	for (unsigned int i = 0; i < nups; i++)
		if (ups[i].type == type)
			return &ups[i];
	return NULL;
}

static struct eh_group *group_new(unsigned int n, uint32_t grant_ms, bool least)
{
	struct eh_group *group = eh_group_new(&(struct eh_group_options){
		.n = n, .least = least, .grant_ms = grant_ms, .seed = random_64() });

	assert_non_null(group);
	return group;
}

static void join(struct eh_group *group, unsigned int child, uint64_t load, uint64_t threshold,
		 uint64_t length)
{
	must(group,
	     (struct eh_event){ .type = EH_EV_JOIN,
				.child = child,
				.load = load,
				.threshold = threshold,
				.length = length,
				.capacity = 1000 },
	     0);
}

static uint64_t load_of(struct eh_group *group, unsigned int child)
{
	struct eh_child c;

	assert_int_equal(eh_group_child(group, child, &c), 0);
	return c.load;
}

static uint64_t threshold_of(struct eh_group *group, unsigned int child)
{
	struct eh_child c;

	assert_int_equal(eh_group_child(group, child, &c), 0);
	return c.threshold;
}

static void test_states(void **state)
{
	assert_int_equal(eh_state(999, 2000, 1000), EH_RECEIVER);
	assert_int_equal(eh_state(1000, 2000, 1000), EH_OK);
	assert_int_equal(eh_state(3000, 2000, 1000), EH_OK);
	assert_int_equal(eh_state(3001, 2000, 1000), EH_SENDER);
	/* T < A: there is no load below it, and no wrap */
	assert_int_equal(eh_state(0, 1000, 2000), EH_OK);
	assert_int_equal(eh_state(0, 0, 0), EH_OK);
	assert_int_equal(eh_state(1, 0, 0), EH_SENDER);
	assert_int_equal(eh_state(UINT64_MAX, UINT64_MAX, UINT64_MAX), EH_OK);
	assert_int_equal(eh_state(UINT64_MAX, UINT64_MAX - 1, 0), EH_SENDER);
	assert_int_equal(eh_state(0, UINT64_MAX, 0), EH_RECEIVER);
	assert_int_equal(eh_state(5, UINT64_MAX, UINT64_MAX), EH_OK);
}

/* A group with gaps and unequal members, in states of all mixtures. Returns how many there are. */
static unsigned int fill(struct eh_group *group, unsigned int size)
{
	unsigned int members = 0, kind = random_below(5);

	for (unsigned int i = 0; i < size; i++) {
		uint64_t threshold = random_below(6000), length = random_below(2500), load;

		if (random_below(4) == 0)
			continue;
		if (kind == 0 && threshold > length) /* receivers */
			load = random_below(threshold - length);
		else if (kind == 1) /* senders */
			load = threshold + length + 1 + random_below(4000);
		else if (kind == 2) /* near the bounds */
			load = threshold + length + random_below(3) - (threshold + length > 0);
		else if (kind == 3 && threshold >= length)
			load = threshold - length + random_below(3) - (threshold > length);
		else
			load = random_below(8000);
		must(group,
		     (struct eh_event){ .type = EH_EV_JOIN,
					.child = i,
					.load = load,
					.threshold = threshold,
					.length = length,
					.capacity = 1 + random_below(8000) },
		     0);
		members++;
	}
	return members;
}

static void test_theorems_of_sums(void **state)
{
	unsigned int seen[3] = { 0 }, all[3] = { 0 };

	random_begin();
	for (int round = 0; round < 20000; round++) {
		unsigned int n = random_below(6), size = 1u << n, has[3] = { 0 };
		struct eh_group *group = group_new(n, 1000, true);
		unsigned int members = fill(group, size);
		struct eh_sums sums, own = { 0 };
		struct eh_child c;

		for (unsigned int i = 0; i < size; i++) {
			if (eh_group_child(group, i, &c))
				continue;
			assert_int_equal(c.state, eh_state(c.load, c.threshold, c.length));
			has[c.state]++;
			own.load += c.load;
			own.threshold += c.threshold;
			own.length += c.length;
			own.capacity += c.capacity;
		}
		eh_group_sums(group, &sums);
		assert_int_equal(sums.members, members);
		assert_int_equal(sums.load, own.load);
		assert_int_equal(sums.threshold, own.threshold);
		assert_int_equal(sums.length, own.length);
		assert_int_equal(sums.capacity, own.capacity);
		assert_int_equal(sums.state, eh_state(own.load, own.threshold, own.length));
		eh_group_free(group);
		if (!members)
			continue;
		seen[sums.state]++;
		if (sums.state == EH_RECEIVER) /* theorem 2.1 */
			assert_true(has[EH_RECEIVER]);
		if (sums.state == EH_SENDER) /* theorem 2.2 */
			assert_true(has[EH_SENDER]);
		if (sums.state == EH_OK) { /* theorem 2.3 */
			assert_true(has[EH_SENDER] < members);
			assert_true(has[EH_RECEIVER] < members);
		}
		for (int s = EH_RECEIVER; s <= EH_SENDER; s += 2) {
			if (has[s] == members) { /* corollary 2.3.2 */
				assert_int_equal(sums.state, s);
				all[s]++;
			}
		}
	}
	/* no theorem has passed by never having been asked */
	for (int s = EH_RECEIVER; s <= EH_SENDER; s++)
		assert_true(seen[s] > 500);
	assert_true(all[EH_RECEIVER] > 500 && all[EH_SENDER] > 500);
}

/* The least whole number of tasks that is no less than L*w/W, found without division. */
static bool is_share(uint64_t threshold, const struct eh_sums *sums, uint64_t capacity)
{
	__uint128_t part = (__uint128_t)sums->load * capacity;

	if (threshold % EH_TASK || (__uint128_t)threshold * sums->capacity < part)
		return false;
	return !threshold || (__uint128_t)(threshold - EH_TASK) * sums->capacity < part;
}

/* Thresholds are modified by an arrival that finds only senders, and by the finish rule. */
static void test_theorems_of_thresholds(void **state)
{
	unsigned int raised = 0, lowered = 0, floors = 0;

	random_begin();
	for (int round = 0; round < 20000; round++) {
		unsigned int n = 1 + random_below(5), size = 1u << n, told = 0;
		bool with_floors = random_below(2), high = random_below(2);
		struct eh_group *group = group_new(n, 1, true);
		struct eh_sums before, after;
		uint64_t length_min = UINT64_MAX;
		bool floored = false;

		for (unsigned int i = 0; i < size; i++) {
			uint64_t length = random_below(3000);

			if (i && random_below(4) == 0)
				continue;
			if (length < length_min)
				length_min = length;
			must(group,
			     (struct eh_event){ .type = EH_EV_JOIN,
						.child = i,
						.threshold = 0,
						.length = length,
						.floor = with_floors ? random_below(9000) : 0,
						.capacity = 1 + random_below(8000) },
			     0);
		}
		for (unsigned int i = 0; i < size; i++) {
			struct eh_child c;

			if (!eh_group_child(group, i, &c))
				must(group,
				     (struct eh_event){
					     .type = EH_EV_REPORT,
					     .child = i,
					     .load = high || !i ? c.length + 1 + random_below(20000)
								: random_below(2000) },
				     0);
		}
		if (!high) { /* thresholds far above, then the finish rule */
			for (unsigned int i = 0; i < size; i++) {
				struct eh_child c;

				if (!eh_group_child(group, i, &c))
					step(group,
					     (struct eh_event){ .type = EH_EV_JOIN,
								.child = i,
								.load = c.load,
								.threshold = 40000,
								.length = c.length,
								.floor = c.floor,
								.capacity = c.capacity },
					     1);
			}
		}
		eh_group_sums(group, &before);
		if (high)
			/* size 0: the arrival itself leaves the sums alone */
			must(group, (struct eh_event){ .type = EH_EV_ARRIVE, .child = 0, .id = 1 },
			     1);
		else
			must(group, (struct eh_event){ .type = EH_EV_TICK }, 2);
		eh_group_sums(group, &after);
		assert_int_equal(after.load, before.load);
		for (unsigned int i = 0; i < nups; i++) {
			struct eh_child c;

			if (ups[i].type != EH_UP_THRESHOLD)
				continue;
			told++;
			assert_int_equal(ups[i].epoch, before.epoch + 1);
			assert_int_equal(after.epoch, before.epoch + 1);
			assert_int_equal(eh_group_child(group, ups[i].child, &c), 0);
			assert_int_equal(c.threshold, ups[i].threshold);
			assert_int_equal(c.length, ups[i].length);
			assert_true(c.threshold >= c.floor);
			if (c.threshold == c.floor)
				floored = true;
			else
				assert_true(is_share(c.threshold, &after, c.capacity));
		}
		eh_group_free(group);
		if (!told) {
			/* nothing to modify: no sender, or the finish rule does not hold */
			assert_int_equal(after.epoch, before.epoch);
			if (high)
				assert_int_not_equal(before.state, EH_SENDER);
			continue;
		}
		assert_int_equal(told, after.members);
		raised += high;
		lowered += !high;
		floors += floored;
		assert_int_not_equal(after.state, EH_SENDER); /* theorem 4.1 */
		if (!floored && length_min >= EH_TASK) {
			assert_int_not_equal(after.state, EH_RECEIVER); /* theorem 4.2 */
			assert_int_equal(after.state, EH_OK); /* corollary 4.1 */
		}
	}
	assert_true(raised > 2000 && lowered > 2000 && floors > 500);
}

/* ---- a model of the group, told nothing but the events and the updates ---- */

struct model_grant {
	uint64_t id, size, deadline;
	unsigned int child;
	bool live;
};

struct model {
	struct eh_child child[CHILDREN]; /* load without grants */
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
	return eh_state(model_load(m, child), m->child[child].threshold, m->child[child].length);
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
		const struct eh_child *want = &m->child[i];
		struct eh_child c;

		if (eh_group_child(group, i, &c)) {
			assert_false(want->present);
			continue;
		}
		assert_true(want->present);
		assert_int_equal(c.load, model_load(m, i));
		assert_int_equal(c.threshold, want->threshold);
		assert_int_equal(c.length, want->length);
		assert_int_equal(c.floor, want->floor);
		assert_int_equal(c.capacity, want->capacity);
		assert_int_equal(c.draining, want->draining);
		own.members++;
		own.load += c.load;
		own.threshold += c.threshold;
		own.length += c.length;
		own.capacity += c.capacity;
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
	return m->child[child].present && !m->child[child].draining && child != e->child &&
	       !(e->tried && e->tried[0] >> child & 1) && model_state(m, child) != EH_SENDER;
}

/* What a decision must be, whoever was chosen among equals. */
static void model_judge(struct model *m, const struct eh_event *e, const struct eh_update *up,
			bool least, uint64_t now)
{
	assert_int_equal(up->id, e->id);
	if (up->type == EH_UP_NONE) {
		if (model_state(m, e->child) == EH_SENDER)
			for (unsigned int i = 0; i < m->size; i++)
				assert_false(model_eligible(m, e, i));
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

			assert_true((model_load(m, up->child) + e->size) * (u ? u : 1) <=
				    (model_load(m, i) + e->size) * (t ? t : 1));
		}
	}
	m->grants[m->next++ % 64] =
		(struct model_grant){ e->id, e->size, now + m->grant_ms, up->child, true };
}

static void model_apply(struct model *m, const struct eh_event *e, bool least, uint64_t now)
{
	unsigned int told = 0, answers = 0;
	struct eh_child *c = &m->child[e->child];

	switch (e->type) {
	case EH_EV_JOIN:
		*c = (struct eh_child){ .present = true,
					.draining = c->present && c->draining,
					.load = e->load,
					.threshold = e->threshold,
					.length = e->length,
					.floor = e->floor,
					.capacity = e->capacity };
		break;
	case EH_EV_LEAVE:
		for (size_t i = 0; i < 64; i++)
			if (m->grants[i].child == e->child)
				m->grants[i].live = false;
		*c = (struct eh_child){ 0 };
		break;
	case EH_EV_DRAIN:
		c->draining = e->flag;
		break;
	case EH_EV_REPORT:
		c->load = e->load;
		for (size_t i = 0; i < e->nseen; i++)
			model_settle(m, e->seen[i], e->child);
		break;
	case EH_EV_FAILED:
		model_settle(m, e->id, e->child);
		break;
	default:
		break;
	}
	if (e->type != EH_EV_ARRIVE)
		for (size_t i = 0; i < 64; i++)
			if (m->grants[i].deadline <= now)
				m->grants[i].live = false;
	for (unsigned int i = 0; i < nups; i++) {
		if (ups[i].type == EH_UP_THRESHOLD) {
			assert_int_equal(ups[i].epoch, m->epoch + 1);
			assert_true(m->child[ups[i].child].present);
			m->child[ups[i].child].threshold = ups[i].threshold;
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
	for (unsigned int i = 0; i < nups; i++) {
		if (ups[i].type == EH_UP_PLACE || ups[i].type == EH_UP_NONE) {
			answers++;
			model_judge(m, e, &ups[i], least, now);
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
	e.load = random_below(9000);
	e.threshold = random_below(6) * 1000;
	e.length = random_below(3) * 500;
	e.floor = random_below(3) ? 0 : random_below(3000);
	e.capacity = 1 + random_below(4000);
	e.size = random_below(2) ? 1000 : random_below(2500);
	e.flag = random_below(3) == 0;
	e.id = e.type == EH_EV_ARRIVE ? ++*id : *id - random_below(20);
	if (e.type == EH_EV_REPORT) {
		e.nseen = random_below(4);
		for (size_t i = 0; i < e.nseen; i++)
			lists[i] = *id - random_below(10);
		e.seen = lists;
	} else if (random_below(2)) {
		lists[0] = random_64() & random_64();
		e.tried = lists;
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
			assert_int_equal(step(group, e, now), want);
			if (want)
				assert_int_equal(nups, 0);
			else
				model_apply(&m, &e, least, now);
			model_check(&m, group);
			places += update_of(EH_UP_PLACE) != NULL;
			changes += update_of(EH_UP_THRESHOLD) != NULL;
		}
		eh_group_free(group);
	}
	assert_true(places > 1000 && changes > 1000);
}

static void test_bad_events(void **state)
{
	struct eh_group *group;
	uint64_t big = EH_VALUE_MAX + 1;
	const struct eh_event bad[] = {
		{ .type = EH_EV_JOIN, .child = 4, .capacity = 1 },
		{ .type = EH_EV_JOIN, .child = ~0u, .capacity = 1 },
		{ .type = EH_EV_JOIN, .child = 1, .capacity = 0 },
		{ .type = EH_EV_JOIN, .child = 1, .capacity = big },
		{ .type = EH_EV_JOIN, .child = 1, .capacity = 1, .load = big },
		{ .type = EH_EV_JOIN, .child = 1, .capacity = 1, .threshold = big },
		{ .type = EH_EV_JOIN, .child = 1, .capacity = 1, .length = big },
		{ .type = EH_EV_JOIN, .child = 1, .capacity = 1, .floor = UINT64_MAX },
		{ .type = EH_EV_LEAVE, .child = 1 },
		{ .type = EH_EV_DRAIN, .child = 1 },
		{ .type = EH_EV_REPORT, .child = 1 },
		{ .type = EH_EV_REPORT, .child = 0, .load = big },
		{ .type = EH_EV_ARRIVE, .child = 1 },
		{ .type = EH_EV_ARRIVE, .child = 0, .size = UINT64_MAX },
		{ .type = EH_EV_FAILED, .child = 3 },
		{ .type = EH_EV_FAILED, .child = 4 },
		{ .type = EH_EV_TICK + 1, .child = 0 },
	};

	assert_null(eh_group_new(&(struct eh_group_options){ .n = EH_N_MAX + 1 }));
	eh_group_free(NULL);
	group = group_new(2, 1000, true);
	join(group, 0, 9000, 2000, 1000);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (step(group, bad[i], 5) != -EINVAL || nups)
			fail_msg("event %zu was taken", i);
		assert_int_equal(load_of(group, 0), 9000);
		assert_int_equal(threshold_of(group, 0), 2000);
	}
	eh_group_free(group);
}

static void count_updates(void *ctx, const struct eh_update *update)
{
	unsigned int *counts = ctx;

	counts[update->type]++;
}

/* The largest values: no sum, share or comparison wraps. */
static void test_extremes(void **state)
{
	struct eh_group *group = group_new(EH_N_MAX, 1000, true);
	struct eh_event e = { .type = EH_EV_JOIN,
			      .load = EH_VALUE_MAX,
			      .threshold = 1000,
			      .length = 1000,
			      .capacity = EH_VALUE_MAX };
	unsigned int updates[EH_UP_SUM + 1] = { 0 };
	struct eh_sums sums;

	for (e.child = 0; e.child < 1u << EH_N_MAX; e.child++)
		assert_int_equal(eh_step(group, &e, 0, count_updates, updates), 0);
	eh_group_sums(group, &sums);
	assert_int_equal(sums.load, EH_VALUE_MAX << EH_N_MAX);
	assert_int_equal(sums.state, EH_SENDER);
	e = (struct eh_event){ .type = EH_EV_ARRIVE, .child = 0, .id = 1, .size = EH_VALUE_MAX };
	memset(updates, 0, sizeof(updates));
	assert_int_equal(eh_step(group, &e, 0, count_updates, updates), 0);
	assert_int_equal(updates[EH_UP_THRESHOLD], 1u << EH_N_MAX);
	assert_int_equal(updates[EH_UP_NONE], 1);
	assert_int_equal(updates[EH_UP_PLACE], 0);
	assert_int_equal(load_of(group, 1), EH_VALUE_MAX);
	assert_true(threshold_of(group, 1) >= EH_VALUE_MAX);
	eh_group_sums(group, &sums);
	assert_int_equal(sums.state, EH_OK);
	eh_group_free(group);
}

/* A child is not given more than can be counted. */
static void test_full(void **state)
{
	const struct eh_event ask = { .type = EH_EV_ARRIVE, .id = 1, .size = EH_VALUE_MAX };
	struct eh_group *group = group_new(1, 1000, true);

	join(group, 0, 9000, 0, 0);
	join(group, 1, 1, EH_VALUE_MAX, 0);
	must(group, ask, 0);
	assert_non_null(update_of(EH_UP_NONE));
	must(group, (struct eh_event){ .type = EH_EV_REPORT, .child = 1, .load = 0 }, 0);
	must(group, ask, 0);
	assert_non_null(update_of(EH_UP_PLACE));
	eh_group_free(group);
}

/* Of equals each is taken equally often, or one node would be filled and another starved. */
static void test_ties(void **state)
{
	for (int least = 0; least < 2; least++) {
		struct eh_group *group = eh_group_new(&(struct eh_group_options){
			.n = 3, .least = least, .grant_ms = 1000, .seed = 42 });
		unsigned int count[8] = { 0 };
		double chi2 = 0;

		assert_non_null(group);
		for (unsigned int i = 0; i < 8; i++)
			join(group, i, i ? 0 : 9000, 2000, 1000);
		for (uint64_t id = 1; id <= 7000; id++) {
			const struct eh_update *up;

			must(group,
			     (struct eh_event){
				     .type = EH_EV_ARRIVE, .child = 0, .id = id, .size = 1000 },
			     0);
			up = update_of(EH_UP_PLACE);
			assert_non_null(up);
			count[up->child]++;
			must(group,
			     (struct eh_event){
				     .type = EH_EV_FAILED, .child = up->child, .id = id },
			     0);
		}
		assert_int_equal(count[0], 0);
		for (unsigned int i = 1; i < 8; i++)
			chi2 += (count[i] - 1000.0) * (count[i] - 1000.0) / 1000;
		/* six degrees of freedom: above 22.5 in one of a thousand seeds */
		assert_true(chi2 < 22.5);
		eh_group_free(group);
	}
}

/* A burst is spread: what was just placed counts before anybody has reported it. */
static void test_burst(void **state)
{
	struct eh_group *group = group_new(3, 1000, true);
	unsigned int count[8] = { 0 };

	for (unsigned int i = 0; i < 8; i++)
		join(group, i, i ? 0 : 40000, 6000, 1000);
	for (uint64_t id = 1; id <= 35; id++) {
		must(group,
		     (struct eh_event){ .type = EH_EV_ARRIVE, .child = 0, .id = id, .size = 1000 },
		     0);
		assert_non_null(update_of(EH_UP_PLACE));
		count[update_of(EH_UP_PLACE)->child]++;
	}
	for (unsigned int i = 1; i < 8; i++)
		assert_int_equal(count[i], 5);
	eh_group_free(group);
}

/* Seen, failed, expired, asked again, left: each takes a grant back exactly once. */
static void test_grants(void **state)
{
	struct eh_group *group = group_new(1, 100, true);
	const struct eh_event ask = { .type = EH_EV_ARRIVE, .child = 0, .id = 7, .size = 1500 };
	uint64_t seen = 7;

	join(group, 0, 9000, 2000, 1000);
	join(group, 1, 0, 9000, 0);
	must(group, ask, 0);
	assert_int_equal(load_of(group, 1), 1500);
	must(group, ask, 1); /* again: not counted twice */
	assert_int_equal(load_of(group, 1), 1500);
	must(group, (struct eh_event){ .type = EH_EV_FAILED, .child = 0, .id = 7 }, 2);
	assert_int_equal(load_of(group, 1), 1500); /* not that child's */
	must(group, (struct eh_event){ .type = EH_EV_FAILED, .child = 1, .id = 7 }, 3);
	assert_int_equal(load_of(group, 1), 0);
	must(group, ask, 10);
	must(group,
	     (struct eh_event){
		     .type = EH_EV_REPORT, .child = 1, .load = 1400, .seen = &seen, .nseen = 1 },
	     11);
	assert_int_equal(load_of(group, 1), 1400);
	must(group,
	     (struct eh_event){
		     .type = EH_EV_REPORT, .child = 1, .load = 0, .seen = &seen, .nseen = 1 },
	     12);
	assert_int_equal(load_of(group, 1), 0);
	must(group, ask, 20);
	must(group, (struct eh_event){ .type = EH_EV_TICK }, 119);
	assert_int_equal(load_of(group, 1), 1500);
	must(group, (struct eh_event){ .type = EH_EV_TICK }, 120);
	assert_int_equal(load_of(group, 1), 0);
	must(group, ask, 130);
	must(group, (struct eh_event){ .type = EH_EV_LEAVE, .child = 1 }, 131);
	join(group, 1, 0, 9000, 0);
	assert_int_equal(load_of(group, 1), 0);
	eh_group_free(group);
}

/* Lowered when the load has stayed low for grant_ms, not by a short dip, and not again and again. */
static void test_finish_rule(void **state)
{
	struct eh_group *group = group_new(2, 100, true);
	uint64_t now = 0;

	for (unsigned int i = 0; i < 4; i++)
		join(group, i, 8000, 8000, 1000);
	/* T - L = 4 tasks is not more than the members; 4.001 is */
	must(group, (struct eh_event){ .type = EH_EV_REPORT, .child = 0, .load = 4000 }, now);
	must(group, (struct eh_event){ .type = EH_EV_TICK }, now += 1000);
	assert_null(update_of(EH_UP_THRESHOLD));
	must(group, (struct eh_event){ .type = EH_EV_REPORT, .child = 0, .load = 3999 }, now += 1);
	must(group, (struct eh_event){ .type = EH_EV_TICK }, now + 99);
	assert_null(update_of(EH_UP_THRESHOLD));
	/* a dip */
	must(group, (struct eh_event){ .type = EH_EV_REPORT, .child = 0, .load = 8000 }, now + 99);
	must(group, (struct eh_event){ .type = EH_EV_REPORT, .child = 0, .load = 3999 },
	     now += 100);
	must(group, (struct eh_event){ .type = EH_EV_TICK }, now + 99);
	assert_null(update_of(EH_UP_THRESHOLD));
	must(group, (struct eh_event){ .type = EH_EV_TICK }, now += 100);
	assert_non_null(update_of(EH_UP_THRESHOLD));
	assert_int_equal(threshold_of(group, 0), 7000);
	assert_int_equal(threshold_of(group, 3), 7000);
	for (int i = 0; i < 100; i++) {
		must(group, (struct eh_event){ .type = EH_EV_TICK }, now += 50);
		assert_null(update_of(EH_UP_THRESHOLD));
	}
	eh_group_free(group);
}

/* Where the floors leave nothing to lower an idle group stays silent. */
static void test_floor(void **state)
{
	struct eh_group *group = group_new(1, 0, true);

	for (unsigned int i = 0; i < 2; i++)
		must(group,
		     (struct eh_event){ .type = EH_EV_JOIN,
					.child = i,
					.threshold = 4000,
					.length = 1000,
					.floor = 4000,
					.capacity = 1000 },
		     0);
	for (uint64_t now = 1; now < 50; now++) {
		must(group, (struct eh_event){ .type = EH_EV_TICK }, now);
		assert_int_equal(nups, 0);
	}
	assert_int_equal(threshold_of(group, 0), 4000);
	eh_group_free(group);
}

/* A load that swings makes changes only with each large swing: one up, one down. */
static void test_no_flapping(void **state)
{
	struct eh_group *group = group_new(2, 100, true);
	unsigned int changes = 0;
	uint64_t now = 0;

	for (unsigned int i = 0; i < 4; i++)
		join(group, i, 0, 0, 1000);
	for (int i = 0; i < 2000; i++) {
		/* between 16 and 20 tasks, below a task for each member up and down */
		uint64_t load = i % 7 < 3 ? 4100 : 5000;

		for (unsigned int c = 0; c < 4; c++)
			must(group,
			     (struct eh_event){ .type = EH_EV_REPORT, .child = c, .load = load },
			     now += 10);
		must(group, (struct eh_event){ .type = EH_EV_ARRIVE, .child = i % 4, .id = i },
		     now);
		changes += update_of(EH_UP_THRESHOLD) != NULL;
		must(group, (struct eh_event){ .type = EH_EV_TICK }, now);
		changes += update_of(EH_UP_THRESHOLD) != NULL;
	}
	assert_true(changes <= 2);
	eh_group_free(group);
}

/* A story of one small cluster, word for word. */
static char story[4096];

static void tell(struct eh_group *group, uint64_t now, const char *what, struct eh_event e)
{
	size_t at = strlen(story);

	must(group, e, now);
	at += sprintf(story + at, "%llu %s:", (unsigned long long)now, what);
	for (unsigned int i = 0; i < nups; i++) {
		const struct eh_update *u = &ups[i];

		if (u->type == EH_UP_PLACE)
			at += sprintf(story + at, " place %u on %u (%u, %u probes)",
				      (unsigned)u->id, u->child, u->found, u->probes);
		else if (u->type == EH_UP_NONE)
			at += sprintf(story + at, " %u stays", (unsigned)u->id);
		else if (u->type == EH_UP_THRESHOLD)
			at += sprintf(story + at, " T%u=%u@%u", u->child, (unsigned)u->threshold,
				      (unsigned)u->epoch);
		else
			at += sprintf(story + at, " sum");
	}
	sprintf(story + at, "\n");
}

#define EV(...) ((struct eh_event){ __VA_ARGS__ })
#define JOINS(c, l)                                                                      \
	EV(.type = EH_EV_JOIN, .child = c, .load = l, .threshold = 2000, .length = 1000, \
	   .floor = 2000, .capacity = 2000)
#define ASKS(c, i, ...) EV(.type = EH_EV_ARRIVE, .child = c, .id = i, .size = 1000, __VA_ARGS__)
#define REPORTS(c, l, ...) EV(.type = EH_EV_REPORT, .child = c, .load = l, __VA_ARGS__)

static void test_story(void **state)
{
	struct eh_group *group = group_new(2, 1000, true);
	static const uint64_t one = 1, refused = 1 << 2;

	story[0] = '\0';
	tell(group, 0, "0 joins", JOINS(0, 0));
	tell(group, 0, "1 joins", JOINS(1, 1000));
	tell(group, 0, "2 joins", JOINS(2, 0));
	tell(group, 10, "0 asks, but is no sender", ASKS(0, 1));
	tell(group, 20, "0 has 4 tasks", REPORTS(0, 4000));
	tell(group, 21, "0 asks", ASKS(0, 1));
	tell(group, 22, "2 refused", EV(.type = EH_EV_FAILED, .child = 2, .id = 1));
	tell(group, 22, "0 asks again", ASKS(0, 1, .tried = &refused));
	tell(group, 30, "1 has seen it", REPORTS(1, 2000, .seen = &one, .nseen = 1));
	tell(group, 40, "2 drains", EV(.type = EH_EV_DRAIN, .child = 2, .flag = true));
	tell(group, 41, "0 asks", ASKS(0, 2));
	tell(group, 42, "0 asks", ASKS(0, 3));
	tell(group, 50, "2 is back", EV(.type = EH_EV_DRAIN, .child = 2));
	tell(group, 51, "0 asks", ASKS(0, 4));
	tell(group, 60, "0 has 9 tasks", REPORTS(0, 9000));
	tell(group, 61, "0 asks, all are senders", ASKS(0, 5));
	tell(group, 70, "1 is gone", EV(.type = EH_EV_LEAVE, .child = 1));
	tell(group, 80, "0 is idle", REPORTS(0, 0));
	tell(group, 1080, "time", EV(.type = EH_EV_TICK));
	tell(group, 2100, "time", EV(.type = EH_EV_TICK));
	assert_string_equal(
		story,
		"0 0 joins: sum\n"
		"0 1 joins: sum\n"
		"0 2 joins: sum\n"
		"10 0 asks, but is no sender: 1 stays\n"
		"20 0 has 4 tasks: sum\n"
		"21 0 asks: place 1 on 2 (0, 1 probes) sum\n"
		"22 2 refused: sum\n"
		"22 0 asks again: place 1 on 1 (1, 1 probes) sum\n"
		"30 1 has seen it:\n"
		"40 2 drains:\n"
		"41 0 asks: place 2 on 1 (1, 1 probes) sum\n"
		"42 0 asks: place 3 on 1 (1, 1 probes) sum\n"
		"50 2 is back:\n"
		"51 0 asks: place 4 on 2 (0, 1 probes) sum\n"
		"60 0 has 9 tasks: sum\n"
		"61 0 asks, all are senders: T0=5000@1 T1=5000@1 T2=5000@1 place 5 on 2 (0, 2 probes) sum\n"
		"70 1 is gone: sum\n"
		"80 0 is idle: sum\n"
		"1080 time: T0=2000@2 T2=2000@2 sum\n"
		"2100 time:\n");
	eh_group_free(group);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_theorems_of_sums),
		cmocka_unit_test(test_theorems_of_thresholds),
		cmocka_unit_test(test_random_events),
		cmocka_unit_test(test_bad_events),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_ties),
		cmocka_unit_test(test_burst),
		cmocka_unit_test(test_grants),
		cmocka_unit_test(test_finish_rule),
		cmocka_unit_test(test_floor),
		cmocka_unit_test(test_no_flapping),
		cmocka_unit_test(test_story),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
