// SPDX-License-Identifier: GPL-2.0-or-later
/* The policies: paper 4's table, each decision by its rules, and no end without an answer. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tree_random.h"

static struct eh_tree *tree_new(const struct eh_tree_options *options)
{
	struct eh_tree *tree = eh_tree_new(options);

	assert_non_null(tree);
	return tree;
}

static struct eh_tree_update arrive(struct eh_tree *tree, uint32_t node, uint64_t size)
{
	struct eh_tree_update up;

	assert_int_equal(eh_tree_step(tree,
				      &(struct eh_tree_event){
					      .type = EH_TREE_ARRIVE, .node = node, .size = size },
				      0, &up),
			 0);
	return up;
}

static struct eh_tree_update finish(struct eh_tree *tree, uint32_t node, uint64_t size)
{
	struct eh_tree_update up;

	assert_int_equal(eh_tree_step(tree,
				      &(struct eh_tree_event){
					      .type = EH_TREE_FINISH, .node = node, .size = size },
				      0, &up),
			 0);
	return up;
}

/* ---- the paper's experiment: 500 arrivals on EH(3,2), 200 seeds ---- */

#define SEEDS 200

struct means {
	double mpn, looked_at, changes, spread, first_refusal;
	double least_changes, most_changes, least_refusal, most_refusal;
};

static struct means experiment(struct eh_tree_options options)
{
	struct means m = { .least_changes = 1e9, .least_refusal = 1e9 };

	options.topology = (struct eh_topology){ 3, 2 };
	for (options.seed = 1; options.seed <= SEEDS; options.seed++) {
		struct eh_tree *tree = tree_new(&options);
		const struct eh_tree_counts *counts = eh_tree_counts(tree);
		uint64_t random = ~options.seed, low = UINT64_MAX, high = 0, refused_at = 0;

		for (int i = 0; i < 500; i++) {
			uint64_t load = tree_node_of(tree, 2, 0).load;

			if (arrive(tree, eh_random_below(&random, 64), 1000).refused && !refused_at)
				refused_at = load;
		}
		for (uint32_t i = 0; i < 64; i++) {
			low = eh_tree_load(tree, i) < low ? eh_tree_load(tree, i) : low;
			high = eh_tree_load(tree, i) > high ? eh_tree_load(tree, i) : high;
		}
		m.mpn += counts->probes / 500.0 / SEEDS;
		m.looked_at += (counts->probes + counts->forwards) / 500.0 / SEEDS;
		m.changes += (double)counts->changes / SEEDS;
		m.spread += (high - low) / 1000.0 / SEEDS;
		m.least_changes =
			counts->changes < m.least_changes ? counts->changes : m.least_changes;
		m.most_changes =
			counts->changes > m.most_changes ? counts->changes : m.most_changes;
		m.least_refusal = refused_at < m.least_refusal ? refused_at : m.least_refusal;
		m.most_refusal = refused_at > m.most_refusal ? refused_at : m.most_refusal;
		assert_int_equal(counts->arrivals, 500);
		eh_tree_free(tree);
	}
	return m;
}

static void near(double is, double wanted, double by)
{
	if (is < wanted - by - 1e-9 || is > wanted + by + 1e-9)
		fail_msg("%g, and not %g±%g", is, wanted, by);
}

static void test_table(void **state)
{
	struct means m = experiment((struct eh_tree_options){ .policy = EH_ETA, .length = 1000 });

	near(m.mpn, 0.20, 0.01);
	near(m.least_changes, 4, 0);
	near(m.most_changes, 4, 0);
	m = experiment(
		(struct eh_tree_options){ .policy = EH_ETA, .length = 1000, .threshold = 1000 });
	near(m.mpn, 0.21, 0.01);
	near(m.changes, 3, 0);
	near(m.spread, 4.2, 0.15);
	m = experiment((struct eh_tree_options){
		.policy = EH_ETA, .length = 1000, .receiver_first = true });
	near(m.mpn, 0.30, 0.01);
	m = experiment((struct eh_tree_options){
		.policy = EH_ETA, .length = 1000, .threshold = 1000, .least = true });
	near(m.mpn, 0.18, 0.01);
	near(m.spread, 3.6, 0.1);
	m = experiment((struct eh_tree_options){ .policy = EH_ETA1, .threshold = 1000 });
	near(m.mpn, 0.67, 0.01);
	near(m.least_changes, 7, 0);
	near(m.most_changes, 7, 0);
}

/* Fixed thresholds: the first refusal is at load 64 t exactly, and nothing is taken after it. */
static void test_refusals(void **state)
{
	for (int t = 1; t <= 4; t++) {
		struct means m = experiment(
			(struct eh_tree_options){ .policy = EH_ETA2, .threshold = t * 1000 });

		near(m.least_refusal, 64000 * t, 0);
		near(m.most_refusal, 64000 * t, 0);
		near(m.changes, 0, 0);
	}
}

/* Beyond the paper: fewer probes and less spread together (docs/hierarchy.md). */
static void test_hint(void **state)
{
	for (unsigned int t = 0; t <= 1; t++) {
		struct means m = experiment((struct eh_tree_options){
			.policy = EH_HINT, .length = 1000, .threshold = t * 1000 });

		assert_true(m.looked_at <= 0.17);
		assert_true(m.spread <= 3.1);
		near(m.changes, 7 - t, 0);
	}
}

/* ---- each decision by the paper's rules ---- */

static void judge(const struct eh_tree_options *o, struct eh_tree *tree, uint32_t home,
		  uint64_t size, unsigned int seen[4])
{
	const struct eh_topology *t = &o->topology;
	struct tree_node states[EH_LEVELS_MAX + 1], to[LEAVES_MAX];
	unsigned int found = 0, probes = 0;
	struct eh_tree_update up;

	for (unsigned int level = 0; level <= t->l; level++)
		states[level] = tree_node_of(tree, level, home >> t->n * level);
	for (uint32_t i = 0; i < tree_count_of(t, 0); i++)
		to[i] = tree_node_of(tree, 0, i);
	for (unsigned int level = 1; level <= t->l && states[0].state == EH_SENDER; level++) {
		probes++;
		if (states[level].state == EH_SENDER || (found && states[level].state == EH_OK))
			continue;
		found = level;
		if (!o->receiver_first || states[level].state == EH_RECEIVER)
			break;
	}
	up = arrive(tree, home, size);
	if (states[0].state != EH_SENDER) {
		assert_int_equal(up.node, home);
		assert_int_equal(up.probes, 0);
		assert_false(up.changed);
		seen[0]++;
		return;
	}
	if (!found) {
		assert_true(up.changed);
		assert_true(up.probes >= probes && up.probes <= 2 * probes);
		assert_int_not_equal(tree_node_of(tree, t->l, 0).threshold, 0);
		seen[1]++;
		return;
	}
	assert_false(up.changed);
	assert_int_equal(up.probes, probes);
	assert_int_not_equal(to[up.node].state, EH_SENDER);
	assert_int_equal(up.node >> t->n * found, home >> t->n * found);
	if (states[found].state == EH_RECEIVER)
		assert_int_equal(to[up.node].state, EH_RECEIVER);
	/* of the last controller's children it is the best */
	for (uint32_t i = up.node >> t->n << t->n; i < ((up.node >> t->n) + 1) << t->n; i++) {
		assert_true(to[up.node].state <= to[i].state);
		if (o->least && to[up.node].state == to[i].state)
			assert_true((__uint128_t)(to[up.node].load + size) *
					    (to[i].threshold ? to[i].threshold : 1) <=
				    (__uint128_t)(to[i].load + size) *
					    (to[up.node].threshold ? to[up.node].threshold : 1));
	}
	seen[1 + states[found].state + 1]++;
}

static void test_decisions(void **state)
{
	unsigned int seen[4] = { 0 };

	random_begin();
	for (int round = 0; round < 400; round++) {
		struct eh_tree_options o = { .topology = random_topology(),
					     .policy = random_below(2) ? EH_ETA : EH_ETA1,
					     .length = random_below(2000),
					     .threshold = random_below(3) * 1000,
					     .least = random_below(2),
					     .receiver_first = random_below(2),
					     .seed = random_64() };
		uint32_t leaves = tree_count_of(&o.topology, 0), home;
		struct eh_tree *tree = tree_new(&o);

		for (int i = 0; i < 200; i++) {
			home = random_below(leaves);
			/* some nodes are visited more often than others */
			if (random_below(2))
				home /= 4;
			if (random_below(3) == 0 && eh_tree_load(tree, home))
				finish(tree, home, 1 + random_below(eh_tree_load(tree, home)));
			else
				judge(&o, tree, home, random_below(2) ? 1000 : random_below(3000),
				      seen);
		}
		tree_check_sums(tree, &o.topology, true);
		eh_tree_free(tree);
	}
	for (int i = 0; i < 4; i++)
		assert_true(seen[i] > 300);
}

/*
 * Never more than one change for an arrival, whatever the topology, the policy
 * and how it tells thresholds: the paper's recursion ends. (One that does not
 * shows as a test that hangs.)
 */
static void test_no_loop(void **state)
{
	static const struct eh_topology shapes[] = { { 3, 2 }, { 3, 4 }, { 4, 3 }, { 2, 6 } };
	static const enum eh_policy policies[] = { EH_ETA, EH_ETA1, EH_HINT };

	random_begin();
	for (unsigned int i = 0; i < 4 * 3 * 8; i++) {
		struct eh_tree_options o = { .topology = shapes[i % 4],
					     .policy = policies[i / 4 % 3],
					     .length = i / 12 % 2 ? 1000 : 0,
					     .lazy = i / 24 % 2,
					     .lag = i / 48 % 2 ? 5 : 0,
					     .seed = random_64() };
		struct eh_tree *tree = tree_new(&o);
		uint32_t leaves = tree_count_of(&o.topology, 0);
		uint64_t changes = 0;

		for (uint32_t k = 0; k < 5 * leaves; k++) {
			/* now and then all comes to one place */
			uint32_t home = k / 64 % 4 ? random_below(leaves) : 0;
			struct eh_tree_update up;

			assert_int_equal(
				eh_tree_step(tree,
					     &(struct eh_tree_event){ .type = EH_TREE_ARRIVE,
								      .node = home,
								      .size = 1000 },
					     k, &up),
				0);
			assert_false(up.refused);
			assert_true(eh_tree_counts(tree)->changes - changes <= 1);
			assert_int_equal(up.changed, eh_tree_counts(tree)->changes != changes);
			changes = eh_tree_counts(tree)->changes;
			if (up.changed)
				assert_int_not_equal(tree_node_of(tree, o.topology.l, 0).state,
						     EH_SENDER);
		}
		assert_true(changes > 0);
		eh_tree_free(tree);
	}
}

/* A trickle at the finish rule's bound makes no change after the first. */
static void test_finish_rule(void **state)
{
	struct eh_tree_options o = { .topology = { 3, 2 }, .length = 1000, .threshold = 3000 };
	struct eh_tree *tree = tree_new(&o);

	for (uint32_t i = 0; i < 64; i++)
		for (int k = 0; k < 2; k++)
			assert_int_equal(arrive(tree, i, 1000).node, i);
	/* T - L = 192 - 128: not more than a task for each */
	assert_int_equal(finish(tree, 5, 0).changed, false);
	assert_int_equal(finish(tree, 5, 1).changed, true);
	assert_int_equal(tree_node_of(tree, 0, 5).threshold, 2000);
	assert_int_equal(tree_node_of(tree, 2, 0).threshold, 128000);
	for (int k = 0; k < 60; k++)
		assert_false(finish(tree, k, 1000).changed);
	eh_tree_free(tree);
}

/* ---- lazy changes ---- */

/* What a node has in force is never newer than what is above it, and rides down with answers. */
static void test_lazy(void **state)
{
	uint64_t rides = 0, behind = 0;

	random_begin();
	for (int round = 0; round < 60; round++) {
		struct eh_tree_options o = { .topology = random_topology(),
					     .policy = random_below(3) ? EH_ETA : EH_HINT,
					     .length = 1000,
					     .lazy = true,
					     .bidirectional = random_below(2),
					     .seed = random_64() };
		uint32_t leaves = tree_count_of(&o.topology, 0);
		struct eh_tree *tree = tree_new(&o);

		for (int k = 0; k < 1500; k++) {
			uint32_t i = random_below(leaves);
			struct tree_node v = tree_node_of(tree, 0, i), top;
			struct eh_tree_update up;
			struct eh_tree_event e = { .node = i, .size = 1000 };

			e.type = v.load >= 1000 && random_below(3) == 0 ? EH_TREE_FINISH
									: EH_TREE_ARRIVE;
			assert_int_equal(eh_tree_step(tree, &e, k, &up), 0);
			tree_check_sums(tree, &o.topology, false);
			top = tree_node_of(tree, o.topology.l, 0);
			assert_int_equal(top.believed, top.threshold);
			if (up.changed) /* 4.1 holds at the top at once */
				assert_int_not_equal(top.state, EH_SENDER);
			for (uint32_t leaf = 0; leaf < leaves; leaf++) {
				v = tree_node_of(tree, 0, leaf);
				behind += v.threshold != v.believed;
			}
		}
		assert_int_equal(eh_tree_counts(tree)->threshold_messages, 0);
		rides += eh_tree_counts(tree)->rides;
		eh_tree_free(tree);
	}
	assert_true(rides > 1000 && behind > 1000);
}

/* Home's threshold is old; the answer brings the new one, and the task stays. */
static void test_lazy_answer(void **state)
{
	struct eh_tree_options o = { .topology = { 1, 2 }, .lazy = true, .length = 1000 };
	struct eh_tree *tree = tree_new(&o);
	struct eh_tree_update up;

	/* T=0: a third task finds a sender everywhere once all have two */
	for (uint32_t i = 0; i < 4; i++)
		for (int k = 0; k < 2; k++)
			assert_int_equal(arrive(tree, i, 1000).node, i);
	up = arrive(tree, 0, 1000);
	assert_true(up.changed);
	assert_int_equal(up.node, 0);
	assert_int_equal(up.probes, 2);
	assert_int_equal(tree_node_of(tree, 0, 0).threshold, 2000);
	/* its sibling believes in 0 still, and the other half knows nothing */
	assert_int_equal(tree_node_of(tree, 0, 1).threshold, 0);
	assert_int_equal(tree_node_of(tree, 0, 1).believed, 2000);
	assert_int_equal(tree_node_of(tree, 1, 0).threshold, 4000);
	assert_int_equal(tree_node_of(tree, 1, 1).threshold, 0);
	assert_int_equal(tree_node_of(tree, 1, 1).believed, 4000);
	assert_int_equal(tree_node_of(tree, 0, 2).believed, 0);
	/* one probe, and it runs at home */
	up = arrive(tree, 1, 1000);
	assert_int_equal(up.node, 1);
	assert_int_equal(up.probes, 1);
	assert_false(up.changed);
	assert_int_equal(tree_node_of(tree, 0, 1).threshold, 2000);
	up = arrive(tree, 2, 1000);
	assert_int_equal(up.node, 2);
	assert_int_equal(up.probes, 2);
	assert_int_equal(tree_node_of(tree, 1, 1).threshold, 4000);
	assert_int_equal(tree_node_of(tree, 0, 3).believed, 2000);
	assert_int_equal(tree_node_of(tree, 0, 3).threshold, 0);
	eh_tree_free(tree);
}

/* ---- both initiate ---- */

static void test_bidirectional(void **state)
{
	struct eh_tree_options o = {
		.topology = { 1, 1 }, .bidirectional = true, .length = 500, .threshold = 2000
	};
	struct eh_tree *tree = tree_new(&o);
	const struct eh_tree_counts *counts = eh_tree_counts(tree);

	for (int k = 0; k < 2; k++)
		arrive(tree, 1, 1000);
	arrive(tree, 0, 1000);
	/* 2 of 4±1 tasks: the group is a receiver too, and nobody needs node 1 */
	assert_int_equal(finish(tree, 1, 1000).probes, 1);
	assert_int_equal(counts->offers, 0);
	/* still a receiver: it has asked already */
	arrive(tree, 1, 100);
	assert_int_equal(finish(tree, 1, 100).probes, 0);
	arrive(tree, 1, 1000);
	for (int k = 0; k < 2; k++)
		arrive(tree, 0, 1000);
	/* 4 of 4±1, and 3 of them at node 0: it gets the name of node 1 */
	assert_int_equal(finish(tree, 1, 1000).probes, 1);
	assert_int_equal(counts->offers, 1);
	assert_int_equal(counts->probes, 2);
	assert_int_equal(counts->receiver_probes, 2);
	/* so its task goes straight there: no controller is asked */
	assert_int_equal(arrive(tree, 0, 1000).node, 1);
	assert_int_equal(counts->offers_used, 1);
	assert_int_equal(counts->probes, 2);
	/* once */
	assert_int_equal(arrive(tree, 0, 100).probes, 1);
	eh_tree_free(tree);
}

/* An offer that is too old is no place: node 1 has become a sender meanwhile. */
static void test_old_offers(void **state)
{
	struct eh_tree_options o = {
		.topology = { 1, 1 }, .bidirectional = true, .length = 500, .threshold = 2000
	};
	struct eh_tree *tree = tree_new(&o);

	for (int k = 0; k < 3; k++)
		arrive(tree, 0, 1000);
	for (int k = 0; k < 2; k++)
		arrive(tree, 1, 1000);
	finish(tree, 1, 1000);
	assert_int_equal(eh_tree_counts(tree)->offers, 1);
	arrive(tree, 1, 5000);
	assert_int_equal(arrive(tree, 0, 1000).node, 0);
	assert_int_equal(eh_tree_counts(tree)->offers_used, 0);
	eh_tree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),	      cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_hint),	      cmocka_unit_test(test_decisions),
		cmocka_unit_test(test_no_loop),	      cmocka_unit_test(test_finish_rule),
		cmocka_unit_test(test_lazy),	      cmocka_unit_test(test_lazy_answer),
		cmocka_unit_test(test_bidirectional), cmocka_unit_test(test_old_offers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
