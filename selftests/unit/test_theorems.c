// SPDX-License-Identifier: GPL-2.0-or-later
/* The theorems of paper 4 over random trees; test_group_theorems has gaps and unequal capacities. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tree_random.h"

static struct eh_tree *tree_new(const struct eh_topology *t, uint64_t threshold, uint64_t length)
{
	struct eh_tree *tree = eh_tree_new(&(struct eh_tree_options){
		.topology = *t, .threshold = threshold, .length = length, .seed = 1 });

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

/* Nodes with any loads; parts of the tree have a mood of their own. */
static void fill(struct eh_tree *tree, const struct eh_topology *t)
{
	unsigned int mood = random_below(4), part = random_below(t->n * t->l + 1);

	for (uint32_t i = 0; i < tree_count_of(t, 0); i++) {
		uint64_t load;

		if (i >> part << part == i && random_below(2))
			mood = random_below(4);
		load = load_for(tree->threshold, tree->length, mood < 3 ? mood : random_below(3));
		for (unsigned int level = 0; level <= t->l; level++)
			tree->load[tree_ancestor(tree, i, level)] += load;
	}
}

/* What is among the children, and among the nodes, below a controller. */
static void look_below(const struct eh_tree *tree, const struct eh_topology *t, unsigned int level,
		       uint32_t index, unsigned int to, unsigned int has[3])
{
	unsigned int shift = t->n * (level - to);

	memset(has, 0, 3 * sizeof(has[0]));
	for (uint32_t i = index << shift; i < (index + 1) << shift; i++)
		has[tree_node_of(tree, to, i).state]++;
}

static void test_states(void **state)
{
	unsigned int seen[3] = { 0 }, all[3] = { 0 };

	random_begin();
	for (int round = 0; round < 6000; round++) {
		struct eh_topology t = random_topology();
		struct eh_tree *tree = tree_new(&t, 1 + random_below(6000), random_below(2500));
		unsigned int has[3], leaves[3];

		fill(tree, &t);
		tree_check_sums(tree, &t, true);
		for (unsigned int level = 1; level <= t.l; level++)
			for (uint32_t i = 0; i < tree_count_of(&t, level); i++) {
				struct tree_node v = tree_node_of(tree, level, i);
				unsigned int children, members;

				assert_int_equal(v.state, eh_state(v.load, v.threshold, v.length));
				look_below(tree, &t, level, i, level - 1, has);
				look_below(tree, &t, level, i, 0, leaves);
				children = has[0] + has[1] + has[2];
				members = leaves[0] + leaves[1] + leaves[2];
				seen[v.state]++;
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
	for (int s = EH_RECEIVER; s <= EH_SENDER; s++)
		assert_true(seen[s] > 2000);
	assert_true(all[EH_RECEIVER] > 200 && all[EH_SENDER] > 200);
}

/* The least whole number of tasks that is no less than L/2^nl, found without division. */
static bool is_share(uint64_t threshold, uint64_t load, uint32_t nodes)
{
	if (threshold % EH_TASK || threshold * nodes < load)
		return false;
	return !threshold || (threshold - EH_TASK) * nodes < load;
}

/* 4.1, 4.2, 4.1c: after an arrival that found only senders, and after the finish rule. */
static void test_thresholds(void **state)
{
	unsigned int raised = 0, lowered = 0, ok = 0;

	random_begin();
	for (int round = 0; round < 8000; round++) {
		bool high = random_below(2), long_enough = random_below(2);
		uint64_t length = long_enough ? EH_TASK + random_below(3000) : random_below(1000);
		struct eh_topology t = random_topology();
		struct eh_tree *tree = tree_new(&t, high ? 0 : 60000, length);
		uint32_t nodes = tree_count_of(&t, 0);
		struct tree_node before, top;
		struct eh_tree_update up;

		for (uint32_t i = 0; i < nodes; i++)
			step(tree,
			     (struct eh_tree_event){ .type = EH_TREE_PLACE,
						     .node = i,
						     .size = high ? length + 1 + random_below(9000)
								  : 1 + random_below(20000) },
			     &up);
		before = tree_node_of(tree, t.l, 0);
		/* size 0 and 1: what arrives or ends does not matter by itself */
		step(tree,
		     (struct eh_tree_event){ .type = high ? EH_TREE_ARRIVE : EH_TREE_FINISH,
					     .size = !high },
		     &up);
		top = tree_node_of(tree, t.l, 0);
		assert_int_equal(top.load, before.load - !high);
		tree_check_sums(tree, &t, true);
		if (high)
			assert_int_equal(before.state, EH_SENDER);
		assert_int_equal(up.changed,
				 high || before.threshold > top.load + (uint64_t)nodes * EH_TASK);
		if (up.changed) {
			for (uint32_t i = 0; i < nodes; i++)
				assert_true(is_share(tree_node_of(tree, 0, i).threshold, top.load,
						     nodes));
			assert_int_not_equal(top.state, EH_SENDER); /* 4.1 */
			if (long_enough) {
				assert_int_not_equal(top.state, EH_RECEIVER); /* 4.2 */
				assert_int_equal(top.state, EH_OK);
				ok++;
			}
			raised += high;
			lowered += !high;
		}
		eh_tree_free(tree);
	}
	assert_true(raised > 1200 && lowered > 1200);
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
