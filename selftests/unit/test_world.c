// SPDX-License-Identifier: GPL-2.0-or-later
/* The live hierarchy in simulated time: whatever fails, it comes back to one controller a group, whose sums are its members'. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "eh/world.h"
#include "random.h"

#define HEARTBEAT 1000
#define NODES_MAX 64
/* Three heartbeats to notice, the search, and the claims that heal. */
#define SETTLE (16 * HEARTBEAT)

static uint8_t sides[NODES_MAX];
static bool is_whole;
static uint64_t seed;

static struct eh_world *world_new(unsigned int n, unsigned int l, uint64_t delay, double loss,
				  bool lazy, eh_world_watch_fn watch)
{
	struct eh_world_options options = {
		.member = { .topology = { n, l },
			    .heartbeat_ms = HEARTBEAT,
			    .grant_ms = 2000,
			    .calm_ms = 2000,
			    .least = true,
			    .lazy = lazy,
			    .seed = seed },
		.delay = delay,
		.loss = loss,
		.refuse = delay,
		.ask_limit = 100 + 20 * delay,
		.own = { .threshold = 2000, .length = 1000, .floor = 1000, .capacity = 1000 },
	};
	struct eh_world *w = eh_world_new(&options, watch, NULL);

	assert_non_null(w);
	is_whole = true;
	return w;
}

static bool together(uint32_t a, uint32_t b)
{
	return is_whole || sides[a] == sides[b];
}

/* The lowest living node of a node's group of this level, on its side. */
static uint32_t lowest(const struct eh_world *w, unsigned int n, uint32_t node, unsigned int level)
{
	uint32_t i = node >> (n * level) << (n * level);

	while (!eh_world_alive(w, i) || !together(i, node))
		i++;
	return i;
}

static void check_sums(const struct eh_world *w, unsigned int n, uint32_t node, unsigned int level,
		       bool exact)
{
	uint32_t first = node >> (n * level) << (n * level), nodes = 0;
	uint64_t load = 0, threshold = 0;
	struct eh_sums sums;

	for (uint32_t i = first; i < first + (1u << n * level); i++) {
		if (!eh_world_alive(w, i) || !together(i, node))
			continue;
		nodes++;
		load += eh_world_node(w, i)->load;
		threshold += eh_world_node(w, i)->threshold;
	}
	assert_int_equal(eh_member_sums(eh_world_member(w, node), level, &sums), 0);
	assert_int_equal(sums.nodes, nodes);
	if (!exact)
		return;
	assert_int_equal(sums.load, load);
	assert_int_equal(sums.threshold, threshold);
}

/* One controller a group, the lowest; parents are theirs; sums are the nodes' own; one rule. */
static void check(const struct eh_world *w, unsigned int n, unsigned int l, bool exact)
{
	for (uint32_t i = 0; i < 1u << (n * l); i++) {
		const struct eh_member *m;
		unsigned int rank = 0;

		if (!eh_world_alive(w, i))
			continue;
		m = eh_world_member(w, i);
		while (rank < l && lowest(w, n, i, rank + 1) == i)
			rank++;
		if (eh_member_rank(m) != rank)
			print_message("node %u at %llu\n", i, (unsigned long long)eh_world_now(w));
		assert_int_equal(eh_member_rank(m), rank);
		assert_int_equal(eh_member_parent(m),
				 rank == l ? EH_NO_NODE : lowest(w, n, i, rank + 1));
		assert_int_equal(eh_member_rule(m).epoch,
				 eh_member_rule(eh_world_member(w, lowest(w, n, i, l))).epoch);
		for (unsigned int level = 1; level <= rank; level++)
			check_sums(w, n, i, level, exact);
	}
}

static void run(struct eh_world *w, uint64_t ms)
{
	assert_int_equal(eh_world_run(w, eh_world_now(w) + ms), 0);
}

static void start_all(struct eh_world *w, unsigned int bits)
{
	for (uint32_t i = 0; i < 1u << bits; i++)
		assert_int_equal(eh_world_start(w, i), 0);
}

/* Any order of start leads to the same tree. */
static void test_start(void **state)
{
	static const struct {
		unsigned int n, l;
	} shapes[] = { { 1, 1 }, { 3, 1 }, { 2, 2 }, { 3, 2 }, { 2, 3 }, { 1, 6 } };

	random_begin();
	for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
		unsigned int bits = shapes[s].n * shapes[s].l, size = 1u << bits;

		for (int round = 0; round < 10; round++) {
			struct eh_world *w;
			uint32_t order[NODES_MAX];

			seed = random_64();
			w = world_new(shapes[s].n, shapes[s].l, random_below(30), 0,
				      random_below(2), NULL);
			for (uint32_t i = 0; i < size; i++) {
				uint32_t j = random_below(i + 1);

				order[i] = order[j];
				order[j] = i;
			}
			for (uint32_t i = 0; i < size; i++) {
				/* gaps too */
				if (round % 3 == 2 && random_below(3))
					continue;
				assert_int_equal(eh_world_start(w, order[i]), 0);
				run(w, random_below(round % 2 ? 300 : 2));
			}
			run(w, SETTLE);
			check(w, shapes[s].n, shapes[s].l, true);
			eh_world_free(w);
		}
	}
}

/* Loads that change are known upward within a heartbeat, exactly at rest. */
static void test_sums(void **state)
{
	random_begin();
	for (int round = 0; round < 30; round++) {
		struct eh_world *w;

		seed = random_64();
		w = world_new(3, 2, random_below(20), 0, random_below(2), NULL);
		start_all(w, 6);
		run(w, SETTLE);
		for (int i = 0; i < 300; i++) {
			uint32_t node = random_below(64);
			struct eh_report own = *eh_world_node(w, node);

			own.load = random_below(5000);
			if (!random_below(20))
				own.capacity = 1000 + random_below(3) * 1000;
			assert_int_equal(eh_world_own(w, node, &own), 0);
			run(w, random_below(40));
		}
		/* thresholds follow for a while, then all is quiet */
		run(w, SETTLE);
		check(w, 3, 2, true);
		eh_world_free(w);
	}
}

static uint64_t placed, lost;

static void count(void *ctx, const struct eh_world_event *e)
{
	placed += e->type == EH_WORLD_PLACED;
	lost += e->type == EH_WORLD_LOST;
}

/* A burst on one node spreads over all groups, at few messages each. */
static void test_spread(void **state)
{
	random_begin();
	for (unsigned int l = 1; l <= 2; l++) {
		struct eh_world_counts c, before;
		uint64_t most = 0, total = 0;
		struct eh_world *w;
		unsigned int size;

		seed = random_64();
		w = world_new(3, l, 1, 0, false, count);
		size = 1u << 3 * l;
		start_all(w, 3 * l);
		run(w, SETTLE);
		eh_world_counts(w, &before);
		placed = lost = 0;
		for (uint64_t id = 1; id <= size * 4; id++) {
			assert_int_equal(eh_world_arrive(w, 5, id, 1000), 0);
			run(w, 5);
		}
		run(w, SETTLE / 4);
		eh_world_counts(w, &c);
		assert_int_equal(placed, size * 4);
		assert_int_equal(c.late, 0);
		for (uint32_t i = 0; i < size; i++) {
			uint64_t load = eh_world_node(w, i)->load;

			total += load;
			most = load > most ? load : most;
		}
		assert_int_equal(total, size * 4 * 1000);
		assert_true(most <= 6000);
		/* up l, back l; reservation and its answer make 2l+2 */
		assert_true(c.messages[EH_MSG_ASK] + c.messages[EH_MSG_ANSWER] <= c.asked * 2 * l);
		eh_world_free(w);
	}
}

/* A controller, the top, half a group die at once: placements work again within ten heartbeats, and all is right again. */
static void test_deaths(void **state)
{
	random_begin();
	for (int round = 0; round < 60; round++) {
		struct eh_world_counts c;
		struct eh_world *w;
		uint64_t id = 1;
		int kind = round % 4;

		seed = random_64();
		w = world_new(3, 2, random_below(20), 0, random_below(2), count);
		start_all(w, 6);
		run(w, SETTLE);
		for (; id <= 200; id++) {
			assert_int_equal(eh_world_arrive(w, 63, id, 1000), 0);
			if (id == 100)
				for (uint32_t i = 0; i < (kind == 3 ? 4u : 1u); i++)
					eh_world_kill(w, kind == 0   ? 8 * (1 + random_below(7))
							 : kind == 1 ? 0
							 : kind == 2 ? 56
								     : i);
			run(w, random_below(20));
		}
		placed = 0;
		run(w, 10 * HEARTBEAT);
		eh_world_counts(w, &c);
		/* whatever became of those, a new burst is placed now */
		for (; id <= 400; id++) {
			assert_int_equal(eh_world_arrive(w, 63, id, 1000), 0);
			run(w, 10);
		}
		run(w, SETTLE);
		check(w, 3, 2, true);
		{
			struct eh_world_counts after;

			eh_world_counts(w, &after);
			assert_int_equal(after.late, c.late);
			assert_true(after.away > c.away);
		}
		eh_world_free(w);
	}
}

/* Two sides go on by themselves and become one again, also when the network loses messages meanwhile. */
static void test_partitions(void **state)
{
	random_begin();
	for (int round = 0; round < 60; round++) {
		unsigned int n = 1 + random_below(3), l = 6 / n;
		struct eh_world *w;

		seed = random_64();
		w = world_new(n, l, random_below(20), 0, random_below(2), NULL);
		start_all(w, n * l);
		run(w, SETTLE);
		for (uint32_t i = 0; i < NODES_MAX; i++)
			sides[i] = round % 2 ? i >> 3 & 1 : random_below(3);
		is_whole = false;
		assert_int_equal(eh_world_cut(w, sides), 0);
		for (int i = 0; i < 100; i++) {
			uint32_t node = random_below(1u << n * l);
			struct eh_report own = *eh_world_node(w, node);

			own.load = random_below(9000);
			assert_int_equal(eh_world_own(w, node, &own), 0);
			run(w, random_below(100));
		}
		run(w, 3 * SETTLE);
		check(w, n, l, true);
		is_whole = true;
		assert_int_equal(eh_world_cut(w, NULL), 0);
		run(w, 2 * SETTLE);
		check(w, n, l, true);
		eh_world_free(w);
	}
}

/* Everything at once, then peace. */
static void test_storms(void **state)
{
	const char *rounds = getenv("EHS_ROUNDS");

	random_begin();
	for (long round = 0; round < (rounds ? atol(rounds) : 150); round++) {
		unsigned int n = 1 + random_below(3), l = 1 + random_below(6 / n);
		uint32_t size = 1u << n * l;
		struct eh_world *w;
		uint64_t id = 1;

		seed = random_64();
		w = world_new(n, l, random_below(60), random_below(2) ? 0.05 : 0,
			      random_below(2), NULL);
		for (int i = 0; i < 300; i++) {
			uint32_t node = random_below(size);

			switch (random_below(8)) {
			case 0:
				eh_world_kill(w, node);
				break;
			case 1:
			case 2:
				eh_world_start(w, node);
				break;
			case 3:
				if (random_below(5))
					break;
				for (uint32_t j = 0; j < size; j++)
					sides[j] = random_below(2);
				eh_world_cut(w, sides);
				break;
			case 4:
				eh_world_cut(w, NULL);
				break;
			case 5:
				eh_world_finish(w, 1 + random_below(id));
				break;
			default:
				if (eh_world_alive(w, node))
					assert_int_equal(eh_world_arrive(w, node, id++, 1000), 0);
			}
			run(w, random_below(400));
		}
		eh_world_cut(w, NULL);
		eh_world_set_loss(w, 0);
		run(w, 4 * SETTLE);
		check(w, n, l, true);
		eh_world_free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start),	   cmocka_unit_test(test_sums),
		cmocka_unit_test(test_spread),	   cmocka_unit_test(test_deaths),
		cmocka_unit_test(test_partitions), cmocka_unit_test(test_storms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
