// SPDX-License-Identifier: GPL-2.0-or-later
/* The paper's theorems as properties of random groups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "group_steps.h"
#include "random.h"

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
		group_must(group,
			   (struct eh_event){ .type = EH_EV_JOIN,
					      .child = i,
					      .join.load = load,
					      .join.threshold = threshold,
					      .join.length = length,
					      .join.capacity = 1 + random_below(8000) },
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
			assert_int_equal(c.state,
					 eh_state(c.own.load, c.own.threshold, c.own.length));
			has[c.state]++;
			own.load += c.own.load;
			own.threshold += c.own.threshold;
			own.length += c.own.length;
			own.capacity += c.own.capacity;
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
			group_must(group,
				   (struct eh_event){ .type = EH_EV_JOIN,
						      .child = i,
						      .join.threshold = 0,
						      .join.length = length,
						      .join.floor =
							      with_floors ? random_below(9000) : 0,
						      .join.capacity = 1 + random_below(8000) },
				   0);
		}
		for (unsigned int i = 0; i < size; i++) {
			struct eh_child c;

			if (!eh_group_child(group, i, &c))
				group_must(group,
					   (struct eh_event){
						   .type = EH_EV_REPORT,
						   .child = i,
						   .report.load =
							   high || !i ? c.own.length + 1 +
										random_below(20000)
								      : random_below(2000) },
					   0);
		}
		if (!high) { /* thresholds far above, then the finish rule */
			for (unsigned int i = 0; i < size; i++) {
				struct eh_child c;

				if (!eh_group_child(group, i, &c))
					group_step(group,
						   (struct eh_event){ .type = EH_EV_JOIN,
								      .child = i,
								      .join.load = c.own.load,
								      .join.threshold = 40000,
								      .join.length = c.own.length,
								      .join.floor = c.own.floor,
								      .join.capacity =
									      c.own.capacity },
						   1);
			}
		}
		eh_group_sums(group, &before);
		if (high)
			/* size 0: the arrival itself leaves the sums alone */
			group_must(group,
				   (struct eh_event){
					   .type = EH_EV_ARRIVE, .child = 0, .arrive.id = 1 },
				   1);
		else
			group_must(group, (struct eh_event){ .type = EH_EV_TICK }, 2);
		eh_group_sums(group, &after);
		assert_int_equal(after.load, before.load);
		for (unsigned int i = 0; i < group_nupdates; i++) {
			struct eh_child c;

			if (group_updates[i].type != EH_UP_THRESHOLD)
				continue;
			told++;
			assert_int_equal(group_updates[i].epoch, before.epoch + 1);
			assert_int_equal(after.epoch, before.epoch + 1);
			assert_int_equal(eh_group_child(group, group_updates[i].child, &c), 0);
			assert_int_equal(c.own.threshold, group_updates[i].threshold);
			assert_int_equal(c.own.length, group_updates[i].length);
			assert_true(c.own.threshold >= c.own.floor);
			if (c.own.threshold == c.own.floor)
				floored = true;
			else
				assert_true(is_share(c.own.threshold, &after, c.own.capacity));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_theorems_of_sums),
		cmocka_unit_test(test_theorems_of_thresholds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
