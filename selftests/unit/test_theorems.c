// SPDX-License-Identifier: GPL-2.0-or-later
/* The theorems of paper 4 over random trees: full and with gaps, equal and unequal capacities. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tree_random.h"

struct kind {
	bool gaps, unequal;
};

static const struct kind kinds[] = {
	{ false, false }, { true, false }, { false, true }, { true, true }
};

static struct eh_tree *tree_new(const struct eh_topology *t)
{
	struct eh_tree *tree =
		eh_tree_new(&(struct eh_tree_options){ .topology = *t, .empty = true, .seed = 1 });

	assert_non_null(tree);
	return tree;
}

static void step(struct eh_tree *tree, struct eh_tree_event event, struct eh_tree_update *up)
{
	assert_int_equal(eh_tree_step(tree, &event, 0, up), 0);
}

/* A load that gives the wanted state, often at its very bound. */
static uint64_t load_for(uint64_t threshold, uint64_t length, unsigned int mood)
{
	uint64_t far = random_below(3) ? random_below(4000) : 0;

	if (mood == EH_RECEIVER && threshold > length)
		return threshold - length - 1 - (far < threshold - length ? far : 0);
	if (mood == EH_SENDER)
		return threshold + length + 1 + far;
	return threshold + random_below(2 * length + 1) - (threshold < length ? threshold : length);
}

/* Members with any loads and thresholds; parts of the tree have a mood of their own. */
static unsigned int fill(struct eh_tree *tree, const struct eh_topology *t, struct kind kind)
{
	unsigned int members = 0, mood = random_below(4), part = random_below(t->n * t->l + 1);

	for (uint32_t i = 0; i < count_of(t, 0); i++) {
		uint64_t threshold = 1 + random_below(6000), length = random_below(2500);
		struct eh_tree_update up;

		if (i >> part << part == i && random_below(2))
			mood = random_below(4);
		if (kind.gaps && random_below(3) == 0)
			continue;
		step(tree,
		     (struct eh_tree_event){
			     .type = EH_TREE_JOIN,
			     .node = i,
			     .threshold = threshold,
			     .length = length,
			     .load = load_for(threshold, length, mood < 3 ? mood : random_below(3)),
			     .capacity = kind.unequal ? 1 + random_below(8000) : 1000 },
		     &up);
		members++;
	}
	return members;
}

/* What is among the children, and among the members, below a controller. */
static void look_below(const struct eh_tree *tree, const struct eh_topology *t, unsigned int level,
		       uint32_t index, unsigned int to, unsigned int has[3])
{
	unsigned int shift = t->n * (level - to);

	memset(has, 0, 3 * sizeof(has[0]));
	for (uint32_t i = index << shift; i < (index + 1) << shift; i++) {
		struct eh_tree_node v = node_of(tree, to, i);

		if (v.present)
			has[v.state]++;
	}
}

static void test_states(void **state)
{
	unsigned int seen[4][3] = { 0 }, all[3] = { 0 };

	random_begin();
	for (int round = 0; round < 6000; round++) {
		struct eh_topology t = random_topology();
		struct eh_tree *tree = tree_new(&t);
		unsigned int has[3], leaves[3];

		fill(tree, &t, kinds[round % 4]);
		check_sums(tree, &t, true);
		for (unsigned int level = 1; level <= t.l; level++)
			for (uint32_t i = 0; i < count_of(&t, level); i++) {
				struct eh_tree_node v = node_of(tree, level, i);
				unsigned int children, members;

				if (!v.present)
					continue;
				assert_int_equal(v.state, eh_state(v.load, v.threshold, v.length));
				look_below(tree, &t, level, i, level - 1, has);
				look_below(tree, &t, level, i, 0, leaves);
				children = has[0] + has[1] + has[2];
				members = leaves[0] + leaves[1] + leaves[2];
				seen[round % 4][v.state]++;
				if (v.state != EH_OK) { /* 2.1, 2.2, their corollaries */
					assert_true(has[v.state]);
					assert_true(leaves[v.state]);
				} else { /* 2.3, 2.3.1 */
					assert_true(has[EH_SENDER] < children);
					assert_true(has[EH_RECEIVER] < children);
					assert_true(leaves[EH_SENDER] < members);
					assert_true(leaves[EH_RECEIVER] < members);
				}
				for (int s = EH_RECEIVER; s <= EH_SENDER; s += 2)
					if (has[s] == children || leaves[s] == members) {
						assert_int_equal(v.state, s); /* 2.3.2 */
						all[s] += level > 1;
					}
			}
		eh_tree_free(tree);
	}
	/* none has passed by never having been asked */
	for (int k = 0; k < 4; k++)
		for (int s = EH_RECEIVER; s <= EH_SENDER; s++)
			assert_true(seen[k][s] > 500);
	assert_true(all[EH_RECEIVER] > 200 && all[EH_SENDER] > 200);
}

/* The least whole number of tasks that is no less than L*w/W, found without division. */
static bool is_share(uint64_t threshold, uint64_t load, uint64_t capacity, uint64_t total)
{
	__uint128_t part = (__uint128_t)load * capacity;

	if (threshold % EH_TASK || (__uint128_t)threshold * total < part)
		return false;
	return !threshold || (__uint128_t)(threshold - EH_TASK) * total < part;
}

/* 4.1, 4.2, 4.1c: after an arrival that found only senders, and after the finish rule. */
static void test_thresholds(void **state)
{
	unsigned int raised[4] = { 0 }, lowered[4] = { 0 }, ok = 0;

	random_begin();
	for (int round = 0; round < 8000; round++) {
		bool high = random_below(2), long_enough = random_below(2);
		struct kind kind = kinds[round % 4];
		struct eh_topology t = random_topology();
		struct eh_tree *tree = tree_new(&t);
		struct eh_tree_node before, top;
		struct eh_tree_update up;
		uint64_t members = 0, slack;
		uint32_t first = 0;

		for (uint32_t i = 0; i < count_of(&t, 0); i++) {
			uint64_t length =
				long_enough ? EH_TASK + random_below(3000) : random_below(1000);

			if (kind.gaps && random_below(3) == 0)
				continue;
			if (!members++)
				first = i;
			step(tree,
			     (struct eh_tree_event){
				     .type = EH_TREE_JOIN,
				     .node = i,
				     .threshold = high ? 0 : 60000,
				     .length = length,
				     .load = high ? length + 1 + random_below(9000)
						  : 1 + random_below(20000),
				     .capacity = kind.unequal ? 1 + random_below(8000) : 1000 },
			     &up);
		}
		if (!members) {
			eh_tree_free(tree);
			continue;
		}
		before = node_of(tree, t.l, 0);
		/* size 0 and 1: what arrives or ends does not matter by itself */
		step(tree,
		     (struct eh_tree_event){ .type = high ? EH_TREE_ARRIVE : EH_TREE_FINISH,
					     .node = first,
					     .size = !high },
		     &up);
		top = node_of(tree, t.l, 0);
		assert_int_equal(top.load, before.load - !high);
		check_sums(tree, &t, true);
		if (high)
			assert_int_equal(before.state, EH_SENDER);
		slack = members * EH_TASK > top.capacity ? members * EH_TASK : top.capacity;
		assert_int_equal(up.changed, high || before.threshold > top.load + slack);
		if (up.changed) {
			for (uint32_t i = 0; i < count_of(&t, 0); i++) {
				struct eh_tree_node v = node_of(tree, 0, i);

				if (v.present)
					assert_true(is_share(v.threshold, top.load, v.capacity,
							     top.capacity));
			}
			assert_int_not_equal(top.state, EH_SENDER); /* 4.1 */
			if (long_enough) {
				assert_int_not_equal(top.state, EH_RECEIVER); /* 4.2 */
				assert_int_equal(top.state, EH_OK);
				ok++;
			}
			raised[round % 4] += high;
			lowered[round % 4] += !high;
		}
		eh_tree_free(tree);
	}
	for (int k = 0; k < 4; k++)
		assert_true(raised[k] > 300 && lowered[k] > 300);
	assert_true(ok > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_thresholds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
