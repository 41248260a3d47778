// SPDX-License-Identifier: GPL-2.0-or-later
/* The live hierarchy in simulated time, while nothing fails: how it starts, what it knows, and where tasks go. */
#include <stdio.h>
#include <stdlib.h>

#include "random.h"
#include "world_tasks.h"

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

			world_seed = random_64();
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
				world_run(w, random_below(round % 2 ? 300 : 2));
			}
			world_run(w, SETTLE);
			world_check(w, shapes[s].n, shapes[s].l, true);
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

		world_seed = random_64();
		w = world_new(3, 2, random_below(20), 0, random_below(2), NULL);
		world_start_all(w, 6);
		world_run(w, SETTLE);
		for (int i = 0; i < 300; i++) {
			uint32_t node = random_below(64);
			struct eh_report own = *eh_world_node(w, node);

			own.load = random_below(5000);
			if (!random_below(20))
				own.capacity = 1000 + random_below(3) * 1000;
			world_own(w, node, &own);
			world_run(w, random_below(40));
		}
		/* thresholds follow for a while, then all is quiet */
		world_run(w, SETTLE);
		world_check(w, 3, 2, true);
		eh_world_free(w);
	}
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

		world_seed = random_64();
		w = world_new(3, l, 1, 0, false, world_count);
		size = 1u << 3 * l;
		world_start_all(w, 3 * l);
		world_run(w, SETTLE);
		eh_world_counts(w, &before);
		world_count_begin();
		for (uint64_t id = 1; id <= size * 4; id++) {
			assert_int_equal(eh_world_arrive(w, 5, id, 1000), 0);
			world_run(w, 5);
		}
		world_run(w, SETTLE / 4);
		eh_world_counts(w, &c);
		assert_int_equal(world_placed, size * 4);
		assert_int_equal(c.late, 0);
		for (uint32_t i = 0; i < size; i++) {
			uint64_t load = eh_world_node(w, i)->load;

			total += load;
			most = load > most ? load : most;
		}
		assert_int_equal(total, size * 4 * 1000);
		assert_true(most <= 6000);
		world_check_tasks(size * 4 + 1, l);
		eh_world_free(w);
	}
}

static uint32_t placed_on;

static void note_place(void *ctx, const struct eh_world_event *e)
{
	if (e->type == EH_WORLD_PLACED)
		placed_on = e->to;
}

static void own(struct eh_world *w, uint32_t node, uint64_t load, bool dwell)
{
	struct eh_report r = *eh_world_node(w, node);

	r.load = load;
	r.floor = r.threshold;
	r.dwell = dwell;
	world_own(w, node, &r);
}

/* A node that dwells is not chosen before a receiver, although its load is lower: in its own group
 * and from another one. */
static void test_dwell(void **state)
{
	uint64_t id = 1;

	random_begin();
	for (unsigned int l = 1; l <= 2; l++) {
		uint32_t size = 1u << 2 * l, home = size - 1;
		struct eh_world *w;
		struct eh_sums sums;

		world_seed = random_64();
		w = world_new(2, l, 1, 0, false, note_place);
		world_start_all(w, 2 * l);
		/* home's group is a sender where there is another one to ask */
		for (uint32_t i = 0; i < size; i++)
			own(w, i, i >> 2 == home >> 2 && l > 1 ? 3000 : 1000, false);
		own(w, home, 4001, false);
		/* nodes 0 and 1, or 4 to 7, dwell; node 2, or 9, is a receiver */
		for (uint32_t i = l == 1 ? 0 : 4; i < (l == 1 ? 2 : 8); i++)
			own(w, i, 0, true);
		own(w, l == 1 ? 2 : 9, 500, false);
		if (l > 1) /* beside the receiver */
			own(w, 8, 0, true);
		world_run(w, SETTLE);
		assert_int_equal(eh_member_sums(eh_world_member(w, 0), l, &sums), 0);
		assert_int_equal(sums.load, l == 1 ? 4501 : 6 * 1000 + 500 + 3 * 3000 + 4001);
		assert_int_equal(eh_world_arrive(w, home, id++, 1000), 0);
		world_run(w, 100);
		assert_int_equal(placed_on, l == 1 ? 2 : 9);
		/* one of them has dwelt for long enough */
		own(w, l == 1 ? 1 : 6, 0, false);
		world_run(w, HEARTBEAT);
		assert_int_equal(eh_world_arrive(w, home, id++, 1000), 0);
		world_run(w, 100);
		assert_int_equal(placed_on, l == 1 ? 1 : 6);
		eh_world_free(w);
	}
}

static void no_updates(void *ctx, const struct eh_member_update *up)
{
}

/* An ask tells the controller of its home's load; that home dwells goes with it. */
static void test_dwell_of_home(void **state)
{
	struct eh_member *m = eh_member_new(&(struct eh_member_options){
		.topology = { 2, 1 }, .heartbeat_ms = HEARTBEAT, .grant_ms = 1, .seed = 1 });
	struct eh_message report = { .type = EH_MSG_REPORT,
				     .level = 1,
				     .report.own = { .load = 4000,
						     .threshold = 2000,
						     .length = 1000,
						     .capacity = 1000,
						     .nodes = 1 } };
	struct eh_message ask = { .type = EH_MSG_ASK,
				  .level = 1,
				  .ask.home = 1,
				  .ask.at_home = { .threshold = 2000,
						   .length = 1000,
						   .capacity = 1000,
						   .nodes = 1,
						   .dwell = true } };
	struct eh_member_event event = { .type = EH_ME_TICK };
	struct eh_child c;
	uint32_t node;

	assert_non_null(m);
	assert_int_equal(eh_member_step(m, &event, 0, no_updates, NULL), 0);
	event = (struct eh_member_event){ .type = EH_ME_MESSAGE, .message = { 1, &report } };
	assert_int_equal(eh_member_step(m, &event, 0, no_updates, NULL), 0);
	assert_int_equal(eh_member_child(m, 1, 1, &c, &node), 0);
	assert_int_equal(c.state, EH_SENDER);
	event.message.body = &ask;
	assert_int_equal(eh_member_step(m, &event, 0, no_updates, NULL), 0);
	assert_int_equal(eh_member_child(m, 1, 1, &c, &node), 0);
	assert_int_equal(c.own.load, 0);
	assert_int_equal(c.state, EH_OK);
	eh_member_free(m);
}

static void keep_answer(void *ctx, const struct eh_member_update *up)
{
	if (up->type == EH_MU_ANSWER)
		*(struct eh_message_answer *)ctx = up->message->answer;
}

/* Where node 0 of EH(1,2), which leads both levels, puts a task that is to leave it. */
static struct eh_message_answer leave(struct eh_member *m, uint64_t id)
{
	struct eh_member_event event = { .type = EH_ME_ASK,
					 .ask = { .id = id, .size = 1000, .leaves = true } };
	struct eh_message_answer answer = { .to = 77 };

	assert_int_equal(eh_member_step(m, &event, 1, keep_answer, &answer), 0);
	return answer;
}

/* A task that is to leave an idle home: to a neighbour that has room, and never home, whoever names that. */
static void test_leaves(void **state)
{
	struct eh_member *m = eh_member_new(&(struct eh_member_options){
		.topology = { 1, 2 }, .heartbeat_ms = HEARTBEAT, .grant_ms = 1000, .seed = 1 });
	struct eh_report own = { .threshold = 2000, .length = 500, .capacity = 1000, .nodes = 1 };
	struct eh_member_event load = { .type = EH_ME_LOAD, .load.own = own };
	struct eh_message report = { .type = EH_MSG_REPORT, .level = 1, .report.own = own };
	struct eh_member_event told = { .type = EH_ME_MESSAGE, .message = { 1, &report } };
	struct eh_message_answer answer;

	assert_non_null(m);
	assert_int_equal(eh_member_step(m, &load, 0, no_updates, NULL), 0);
	for (int i = 0; i < 8; i++)
		assert_int_equal(eh_member_step(m, &(struct eh_member_event){ .type = EH_ME_TICK },
						i * HEARTBEAT / 8, no_updates, NULL),
				 0);
	assert_int_equal(eh_member_rank(m), 2);
	answer = leave(m, 1);
	assert_int_equal(answer.to, EH_NO_NODE);
	assert_int_equal(answer.why, EH_WHY_NO_RECEIVER);
	assert_int_equal(eh_member_step(m, &told, HEARTBEAT, no_updates, NULL), 0);
	assert_int_equal(leave(m, 2).to, 1);
	/* overloaded: so is their group, and the top changes the thresholds; home is its best node then */
	report.report.own.load = 9000;
	assert_int_equal(eh_member_step(m, &told, HEARTBEAT, no_updates, NULL), 0);
	answer = leave(m, 3);
	assert_int_equal(answer.to, EH_NO_NODE);
	assert_int_equal(answer.why, EH_WHY_NO_RECEIVER);
	eh_member_free(m);
}

static uint64_t at_top;

static void count_top(void *ctx, const struct eh_world_event *e)
{
	at_top += e->type == EH_WORLD_SENT && (!e->node || !e->to);
}

/* Messages a second to and from the top (which plays a controller of each level), while on each
 * node a task a second arrives and one ends, of two. */
static double top_traffic(unsigned int n, unsigned int l)
{
	struct eh_world *w = world_new(n, l, 1, 0, false, count_top);
	uint32_t size = 1u << n * l, *live = malloc(4 * size * sizeof(*live));
	uint64_t id = 1;
	double now;

	assert_non_null(live);
	world_start_all(w, n * l);
	world_run(w, SETTLE);
	for (uint32_t i = 0; i < 2 * size; i++, id++) {
		assert_int_equal(eh_world_arrive(w, i % size, id, 1000), 0);
		live[i] = id;
	}
	world_run(w, SETTLE);
	at_top = 0;
	now = eh_world_now(w);
	for (uint32_t i = 0; i < 30 * size; i++) {
		uint32_t k = random_below(2 * size);

		now += 1000.0 / size;
		assert_int_equal(eh_world_run(w, (uint64_t)now), 0);
		assert_int_equal(eh_world_arrive(w, random_below(size), id, 1000), 0);
		assert_int_equal(eh_world_finish(w, live[k]), 0);
		live[k] = id++;
	}
	free(live);
	eh_world_free(w);
	return at_top / 30.0;
}

/* It grows as l*2^n, and not with the number of nodes: 8 to 512 of them. */
static void test_top(void **state)
{
	static const struct {
		unsigned int n, l;
	} shapes[] = { { 4, 1 }, { 3, 2 }, { 2, 3 }, { 2, 4 }, { 1, 8 }, { 3, 3 } };
	double one;

	random_begin();
	world_seed = random_64();
	one = top_traffic(3, 1) / 8;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		unsigned int n = shapes[i].n, l = shapes[i].l;
		double each = top_traffic(n, l) / (l << n);

		printf("# EH(%u,%u): the top has %.2f messages a second for each of l*2^n=%u; EH(3,1) %.2f\n",
		       n, l, each, l << n, one);
		assert_true(each <= 1.6 * one);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start),	      cmocka_unit_test(test_sums),
		cmocka_unit_test(test_spread),	      cmocka_unit_test(test_dwell),
		cmocka_unit_test(test_dwell_of_home), cmocka_unit_test(test_leaves),
		cmocka_unit_test(test_top),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
