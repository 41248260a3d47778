// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The live hierarchy when nodes die, restart and are cut off: tasks are placed meanwhile, and afterwards each group has one
 * controller again, whose sums are its members'.
 */
#include <stdio.h>
#include <stdlib.h>

#include "random.h"
#include "world_tasks.h"

/* A controller, the top, half a group die at once: placements work again within ten heartbeats, and all is right again. */
static void test_deaths(void **state)
{
	random_begin();
	for (int round = 0; round < 60; round++) {
		struct eh_world_counts c;
		struct eh_world *w;
		uint64_t id = 1;
		int kind = round % 4;

		world_seed = random_64();
		world_count_begin();
		w = world_new(3, 2, random_below(20), 0, random_below(2), world_count);
		world_start_all(w, 6);
		world_run(w, SETTLE);
		for (; id <= 200; id++) {
			assert_int_equal(eh_world_arrive(w, 63, id, 1000), 0);
			if (id == 100)
				for (uint32_t i = 0; i < (kind == 3 ? 4u : 1u); i++)
					eh_world_kill(w, kind == 0   ? 8 * (1 + random_below(7))
							 : kind == 1 ? 0
							 : kind == 2 ? 56
								     : i);
			world_run(w, random_below(20));
		}
		world_run(w, 10 * HEARTBEAT);
		eh_world_counts(w, &c);
		/* whatever became of those, a new burst is placed now */
		for (; id <= 400; id++) {
			assert_int_equal(eh_world_arrive(w, 63, id, 1000), 0);
			world_run(w, 10);
		}
		world_run(w, SETTLE);
		world_check(w, 3, 2, true);
		world_check_tasks(id, 2);
		{
			struct eh_world_counts after;

			eh_world_counts(w, &after);
			assert_int_equal(after.late, c.late);
			assert_true(after.away > c.away);
		}
		eh_world_free(w);
	}
}

/* As check(), in a word. */
static bool is_right(const struct eh_world *w, unsigned int n, unsigned int l)
{
	for (uint32_t i = 0; i < 1u << (n * l); i++) {
		const struct eh_member *m = eh_world_alive(w, i) ? eh_world_member(w, i) : NULL;
		struct eh_rule own, tops;
		unsigned int rank = 0;

		if (!m)
			continue;
		while (rank < l && world_lowest(w, n, i, rank + 1) == i)
			rank++;
		own = eh_member_rule(m);
		tops = eh_member_rule(eh_world_member(w, world_lowest(w, n, i, l)));
		if (eh_member_rank(m) != rank ||
		    eh_member_parent(m) !=
			    (rank == l ? EH_NO_NODE : world_lowest(w, n, i, rank + 1)) ||
		    own.epoch != tops.epoch || own.load != tops.load ||
		    own.capacity != tops.capacity)
			return false;
		for (unsigned int level = 1; level <= rank; level++) {
			uint32_t first = i >> (n * level) << (n * level), nodes = 0;
			uint64_t load = 0, threshold = 0;
			struct eh_sums sums;

			for (uint32_t j = first; j < first + (1u << n * level); j++) {
				nodes += eh_world_alive(w, j);
				load += eh_world_alive(w, j) ? eh_world_node(w, j)->load : 0;
				threshold +=
					eh_world_alive(w, j) ? eh_world_node(w, j)->threshold : 0;
			}
			if (eh_member_sums(m, level, &sums) || sums.nodes != nodes ||
			    sums.load != load || sums.threshold != threshold)
				return false;
		}
	}
	return true;
}

/*
 * Any set of controllers dies, and of those who would follow them: each task that comes is placed within
 * a heartbeat, and within three of the last change all is right again.
 */
static void test_controllers(void **state)
{
	uint64_t longest = 0, sum = 0, changed, first, id;
	const int rounds = 200;
	struct eh_world *w;
	uint32_t node;

	random_begin();
	for (int round = 0; round < rounds; round++) {
		world_seed = random_64();
		world_count_begin();
		w = world_new(3, 2, random_below(20), 0, random_below(2), world_count);
		world_start_all(w, 6);
		world_run(w, SETTLE);
		for (id = 1; id <= 100; id++)
			assert_int_equal(eh_world_arrive(w, 63, id, 1000), 0);
		world_run(w, SETTLE);
		assert_true(is_right(w, 3, 2));
		for (uint32_t group = 0; group < NODES_MAX; group += 8)
			for (uint32_t i = group; i < group + 7 && random_below(2); i++)
				assert_int_equal(eh_world_kill(w, i), 0);
		changed = eh_world_now(w);
		first = id;
		for (;;) {
			assert_true(eh_world_now(w) <= changed + 3 * HEARTBEAT);
			if (round % 2 && id < first + 40) {
				do
					node = random_below(NODES_MAX);
				while (!eh_world_alive(w, node));
				assert_int_equal(eh_world_arrive(w, node, id++, 1000), 0);
				changed = eh_world_now(w);
			}
			world_run(w, 25);
			if (!is_right(w, 3, 2))
				continue;
			sum += eh_world_now(w) - changed;
			if (eh_world_now(w) - changed > longest)
				longest = eh_world_now(w) - changed;
			break;
		}
		world_run(w, HEARTBEAT);
		for (uint64_t i = first; i < id; i++)
			assert_int_equal(world_tasks[i].placed, 1);
		world_run(w, 3 * HEARTBEAT);
		world_check_thresholds(w, 6);
		eh_world_free(w);
	}
	printf("# right after %llu ms, at most %llu; a heartbeat is %u\n",
	       (unsigned long long)(sum / rounds), (unsigned long long)longest, HEARTBEAT);
}

/* Two sides go on by themselves and become one again, also when the network loses messages meanwhile. */
static void test_partitions(void **state)
{
	random_begin();
	for (int round = 0; round < 60; round++) {
		unsigned int n = 1 + random_below(3), l = 6 / n;
		struct eh_world *w;

		world_seed = random_64();
		w = world_new(n, l, random_below(20), 0, random_below(2), NULL);
		world_start_all(w, n * l);
		world_run(w, SETTLE);
		for (uint32_t i = 0; i < NODES_MAX; i++)
			world_sides[i] = round % 2 ? i >> 3 & 1 : random_below(3);
		world_is_whole = false;
		assert_int_equal(eh_world_cut(w, world_sides), 0);
		for (int i = 0; i < 100; i++) {
			uint32_t node = random_below(1u << n * l);
			struct eh_report own = *eh_world_node(w, node);

			own.load = random_below(9000);
			world_own(w, node, &own);
			world_run(w, random_below(100));
		}
		world_run(w, 3 * SETTLE);
		world_check(w, n, l, true);
		world_is_whole = true;
		assert_int_equal(eh_world_cut(w, NULL), 0);
		world_run(w, 2 * SETTLE);
		world_check(w, n, l, true);
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

		world_seed = random_64();
		w = world_new(n, l, random_below(60), random_below(2) ? 0.05 : 0, random_below(2),
			      world_count);
		world_count_begin();
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
					world_sides[j] = random_below(2);
				eh_world_cut(w, world_sides);
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
			world_run(w, random_below(400));
		}
		eh_world_cut(w, NULL);
		eh_world_set_loss(w, 0);
		world_run(w, 4 * SETTLE);
		world_check(w, n, l, true);
		world_check_thresholds(w, n * l);
		world_check_tasks(id, l);
		eh_world_free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deaths),
		cmocka_unit_test(test_controllers),
		cmocka_unit_test(test_partitions),
		cmocka_unit_test(test_storms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
