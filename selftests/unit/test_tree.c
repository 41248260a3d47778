// SPDX-License-Identifier: GPL-2.0-or-later
/* The tree as a data structure: sums after every event, errors that change nothing, its size. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tree_random.h"

static void test_new(void **state)
{
	const struct eh_tree_options good = { .topology = { 3, 2 },
					      .threshold = 2000,
					      .length = 500 };
	struct eh_tree_options bad[] = { good, good, good, good, good, good, good };
	struct eh_tree *tree = eh_tree_new(&good);
	struct tree_node v;

	assert_non_null(tree);
	for (unsigned int level = 0; level <= 2; level++) {
		uint64_t below = 1u << 3 * level;

		v = tree_node_of(tree, level, 0);
		assert_int_equal(v.threshold, 2000 * below);
		assert_int_equal(v.length, 500 * below);
		assert_int_equal(v.load, 0);
		assert_int_equal(v.state, EH_RECEIVER);
	}
	eh_tree_free(tree);
	eh_tree_free(NULL);

	bad[0].topology.n = 0;
	bad[1].topology.l = 0;
	bad[2].topology.n = 11;
	bad[3].topology = (struct eh_topology){ 10, 4 };
	bad[4].threshold = EH_TREE_VALUE_MAX + 1ull;
	bad[5].length = EH_TREE_VALUE_MAX + 1ull;
	bad[6].policy = EH_HINT + 1;
	for (int i = 0; i < 7; i++)
		assert_null(eh_tree_new(&bad[i]));
}

/* At most 64 bytes a node, all told, for the paper's policies on every topology, and for all
 * options together where controllers are few. */
static void test_size(void **state)
{
	for (unsigned int n = 1; n <= 5; n++)
		for (unsigned int l = 1; n * l <= 16; l++) {
			struct eh_tree_options o = { .topology = { n, l } };
			struct eh_tree *tree = eh_tree_new(&o);
			size_t leaves = 1u << n * l;

			assert_non_null(tree);
			if (leaves > 64)
				assert_true(eh_tree_bytes(tree) <= 64 * leaves);
			eh_tree_free(tree);
			o.policy = EH_HINT;
			o.lazy = true;
			o.bidirectional = true;
			tree = eh_tree_new(&o);
			assert_non_null(tree);
			if (n > 1 && leaves > 512)
				assert_true(eh_tree_bytes(tree) <= 64 * leaves);
			eh_tree_free(tree);
		}
}

static bool same(const struct eh_tree *tree, const struct eh_topology *t,
		 const struct tree_node *before, const struct eh_tree_counts *counts)
{
	size_t k = 0;

	for (unsigned int level = 0; level <= t->l; level++)
		for (uint32_t i = 0; i < tree_count_of(t, level); i++, k++) {
			struct tree_node v = tree_node_of(tree, level, i);

			const struct tree_node *b = &before[k];

			if (v.load != b->load || v.threshold != b->threshold ||
			    v.believed != b->believed || v.length != b->length ||
			    v.state != b->state)
				return false;
		}
	return !memcmp(counts, eh_tree_counts(tree), sizeof(*counts));
}

static void test_bad_events(void **state)
{
	struct eh_tree_options o = { .topology = { 2, 2 }, .length = 1000 };
	struct eh_tree *tree = eh_tree_new(&o);
	static const struct eh_tree_event bad[] = {
		{ .type = EH_TREE_ARRIVE, .node = 16, .size = 1000 }, /* no node */
		{ .type = EH_TREE_FINISH, .node = 16, .size = 0 },
		{ .type = EH_TREE_PLACE, .node = 16, .size = 1000 },
		{ .type = EH_TREE_PLACE, .node = UINT32_MAX },
		{ .type = EH_TREE_FINISH, .node = 0, .size = 1001 }, /* more than runs */
		{ .type = EH_TREE_FINISH, .node = 1, .size = 1 },
		{ .type = EH_TREE_ARRIVE, .node = 0, .size = EH_TREE_LOAD_MAX - 999 },
		{ .type = EH_TREE_PLACE, .node = 0, .size = EH_TREE_LOAD_MAX - 999 },
		{ .type = EH_TREE_ARRIVE, .node = 0, .size = UINT64_MAX },
		{ .type = EH_TREE_PLACE + 1, .node = 0 },
	};
	struct tree_node before[21];
	struct eh_tree_counts counts;
	struct eh_tree_update up;
	size_t k = 0;

	assert_non_null(tree);
	assert_int_equal(
		eh_tree_step(tree, &(struct eh_tree_event){ .type = EH_TREE_PLACE, .size = 1000 },
			     0, &up),
		0);
	for (unsigned int level = 0; level <= 2; level++)
		for (uint32_t i = 0; i < tree_count_of(&o.topology, level); i++)
			before[k++] = tree_node_of(tree, level, i);
	counts = *eh_tree_counts(tree);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (eh_tree_step(tree, &bad[i], 0, &up) != -EINVAL)
			fail_msg("event %zu was taken", i);
		assert_true(same(tree, &o.topology, before, &counts));
	}
	eh_tree_free(tree);
}

/* As much as can be counted, on the largest group. */
static void test_extremes(void **state)
{
	struct eh_tree_options o = { .topology = { 10, 1 }, .length = 1000 };
	struct eh_tree *tree = eh_tree_new(&o);
	struct eh_tree_update up;
	struct tree_node top;

	assert_non_null(tree);
	for (uint32_t i = 0; i < 1024; i++)
		assert_int_equal(
			eh_tree_step(tree,
				     &(struct eh_tree_event){ .type = EH_TREE_PLACE,
							      .node = i,
							      .size = EH_TREE_LOAD_MAX / 1024 },
				     0, &up),
			0);
	assert_int_equal(tree_node_of(tree, 1, 0).load, EH_TREE_LOAD_MAX);
	assert_int_equal(tree_node_of(tree, 1, 0).state, EH_SENDER);
	assert_int_equal(
		eh_tree_step(tree, &(struct eh_tree_event){ .type = EH_TREE_ARRIVE }, 0, &up), 0);
	assert_true(up.changed);
	top = tree_node_of(tree, 1, 0);
	assert_int_equal(top.state, EH_OK);
	assert_true(top.threshold >= EH_TREE_LOAD_MAX);
	tree_check_sums(tree, &o.topology, true);
	eh_tree_free(tree);
}

/* Any events under any options: sums hold after each, and the nodes' loads are those of a model. */
static void test_random_events(void **state)
{
	random_begin();
	for (int round = 0; round < 300; round++) {
		struct eh_tree_options o = { .topology = random_topology(),
					     .policy = random_below(EH_HINT + 1),
					     .threshold = random_below(4) * 1000,
					     .length = random_below(2500),
					     .least = random_below(2),
					     .receiver_first = random_below(2),
					     .lazy = random_below(2),
					     .bidirectional = random_below(2),
					     .lag = random_below(2) ? random_below(20) : 0,
					     .seed = random_64() };
		struct eh_tree *tree = eh_tree_new(&o);
		uint32_t leaves = tree_count_of(&o.topology, 0);
		uint64_t load[LEAVES_MAX] = { 0 }, total = 0, known = 0, arrivals = 0, finishes = 0;
		struct eh_tree_update last;
		uint64_t now = 0;

		assert_non_null(tree);
		for (int k = 0; k < 600; k++) {
			uint32_t i = random_below(3) ? random_below(leaves) : 0;
			struct eh_tree_event e = {
				.type = random_below(4) ? EH_TREE_ARRIVE
							: random_below(EH_TREE_PLACE + 1),
				.node = i,
				.size = random_below(2) ? 1000 : random_below(3000)
			};
			struct eh_tree_update up;
			int err;

			now += random_below(3);
			err = eh_tree_step(tree, &e, now, &up);
			if (err) {
				assert_true(e.type == EH_TREE_FINISH && e.size > load[i]);
				continue;
			}
			switch (e.type) {
			case EH_TREE_ARRIVE:
				arrivals++;
				assert_true(!up.refused || o.policy == EH_ETA2);
				if (!up.refused)
					load[up.node] += e.size;
				break;
			case EH_TREE_PLACE:
				arrivals++;
				assert_int_equal(up.probes, 0);
				load[i] += e.size;
				break;
			case EH_TREE_FINISH:
				finishes++;
				load[i] -= e.size;
				break;
			}
			total = known = 0;
			for (uint32_t j = 0; j < leaves; j++) {
				assert_int_equal(eh_tree_load(tree, j), load[j]);
				total += load[j];
				known += tree_node_of(tree, 0, j).load;
				if (!o.lag)
					assert_int_equal(tree_node_of(tree, 0, j).load, load[j]);
			}
			tree_check_sums(tree, &o.topology, !o.lazy);
			assert_int_equal(tree_node_of(tree, o.topology.l, 0).load, known);
		}
		assert_int_equal(eh_tree_counts(tree)->arrivals, arrivals);
		assert_int_equal(eh_tree_counts(tree)->finishes, finishes);
		/* late reports have all come in the end */
		assert_int_equal(eh_tree_step(tree,
					      &(struct eh_tree_event){ .type = EH_TREE_PLACE },
					      now + 1000, &last),
				 0);
		assert_int_equal(tree_node_of(tree, o.topology.l, 0).load, total);
		eh_tree_free(tree);
	}
}

/* The same seed, the same run. */
static void test_repeats(void **state)
{
	for (int policy = EH_ETA; policy <= EH_HINT; policy++) {
		struct eh_tree_options o = { .topology = { 3, 2 },
					     .policy = policy,
					     .length = 1000,
					     .threshold = 1000,
					     .seed = 7 };
		struct eh_tree *a = eh_tree_new(&o), *b = eh_tree_new(&o);

		assert_non_null(a);
		assert_non_null(b);
		for (int k = 0; k < 2000; k++) {
			struct eh_tree_event e = { .type = EH_TREE_ARRIVE,
						   .node = k * k % 61 % 64,
						   .size = 1000 };
			struct eh_tree_update x, y;

			assert_int_equal(eh_tree_step(a, &e, k, &x), 0);
			assert_int_equal(eh_tree_step(b, &e, k, &y), 0);
			assert_int_equal(x.node, y.node);
			assert_int_equal(x.probes, y.probes);
		}
		eh_tree_free(a);
		eh_tree_free(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new),	      cmocka_unit_test(test_size),
		cmocka_unit_test(test_bad_events),    cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_random_events), cmocka_unit_test(test_repeats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
