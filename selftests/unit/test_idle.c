// SPDX-License-Identifier: GPL-2.0-or-later
/* Credits (lib/eh/idle.h) over a network that loses, doubles and delays messages, while nodes die: none is accepted
 * twice, none is lost for long, and no ask stays without an answer. */
#include <string.h>

#include "eh/pool.h"
#include "eh/rule.h"
#include "idle_world.h"

/* Free processors first, wherever they are, then the nodes with the fewest tasks, then none. */
static void test_order(void **state)
{
	static const unsigned int shapes[][3] = {
		{ 3, 1, 1 }, { 2, 2, 2 }, { 3, 2, 1 }, { 1, 4, 1 }
	};

	for (unsigned int s = 0; s < 4; s++) {
		idle_begin(shapes[s][0], shapes[s][1], shapes[s][2]);
		idle_run(50);
		for (unsigned int k = 0; k < EH_TIERS * world.size * world.processors; k++) {
			uint64_t id = idle_want(random_below(world.size), 0);

			idle_run(world.now + 50);
			assert_true(world.answers[id] == 1 && world.found[id]);
			assert_int_equal(world.answer_of[id].tier,
					 k / (world.size * world.processors));
			idle_use(id);
			idle_run(world.now + 50);
		}
		assert_int_equal(world.accepts, EH_TIERS * world.size * world.processors);
		assert_int_equal(world.declines, 0);
		assert_false(world.found[idle_want(0, 0)]);
		idle_run(world.now + 50);
		idle_check_all_known();
		idle_end();
	}
}

/* The ask finds what is nearest: in its own group it takes one message up and one back. */
static void test_near(void **state)
{
	uint64_t id;

	idle_begin(3, 2, 1);
	idle_run(50);
	world.sent = 0;
	id = idle_want(13, 0);
	idle_run(world.now + 20);
	assert_true(world.found[id] && world.answer_of[id].node / 8 == 1);
	assert_int_equal(world.sent, 2);
	/* that it is used is no news to the controller, which has let it be taken */
	idle_use(id);
	idle_run(world.now + 20);
	assert_int_equal(world.accepts, 1);
	assert_int_equal(world.sent, 2);
	idle_end();
}

/* With all processors busy an ask waits for the first that is free. */
static void test_held(void **state)
{
	for (unsigned int l = 1; l <= 3; l++) {
		uint64_t ids[8], late;

		idle_begin(2, l, 1);
		for (uint32_t i = 0; i < world.size; i++)
			idle_set_tasks(i, 1);
		idle_run(50);
		for (unsigned int k = 0; k < 8; k++)
			ids[k] = idle_want(random_below(world.size), 60000);
		idle_run(world.now + 100);
		for (unsigned int k = 0; k < 8; k++)
			assert_int_equal(world.answers[ids[k]], 0);
		assert_int_equal(world.nodes[0].idle->nheld, 8);
		/* no more may wait: this one goes one task ahead */
		late = idle_want(world.size - 1, 60000);
		idle_run(world.now + 50);
		assert_true(world.answers[late] == 1 && world.found[late] &&
			    world.answer_of[late].tier == 1);
		idle_step(world.size - 1,
			  (struct eh_idle_event){ .type = EH_IDLE_UNUSED,
						  .credit = world.answer_of[late] });
		/* four end at the same time in one group, or all there is */
		for (uint32_t i = world.size - 4; i < world.size; i++)
			idle_set_tasks(i, 0);
		idle_run(world.now + 50);
		assert_int_equal(world.nodes[0].idle->nheld, 4);
		for (unsigned int k = 0; k < 8; k++) {
			assert_int_equal(world.answers[ids[k]], world.answers[ids[k]] != 0);
			if (world.answers[ids[k]]) {
				assert_true(world.found[ids[k]] &&
					    world.answer_of[ids[k]].tier == 0);
				idle_use(ids[k]);
			}
		}
		idle_run(world.now + 50);
		assert_int_equal(world.accepts, 4);
		/* the others at their deadline */
		idle_run(world.now + 61000);
		for (unsigned int k = 0; k < 8; k++)
			assert_int_equal(world.answers[ids[k]], 1);
		assert_int_equal(world.nodes[0].idle->nheld, 0);
		idle_end();
	}
}

/* Of those that wait, that whose time ends first gets the first processor; or has waited, when it ends. */
static void test_held_order(void **state)
{
	uint64_t longest, shortest, middle, late;

	idle_begin(2, 2, 1);
	for (uint32_t i = 0; i < world.size; i++)
		idle_set_tasks(i, 1);
	idle_run(50);
	longest = idle_want(1, 60000);
	idle_run(world.now + 50);
	middle = idle_want(2, 30000);
	shortest = idle_want(3, 20000);
	idle_run(world.now + 50);
	assert_int_equal(world.nodes[0].idle->nheld, 3);
	idle_set_tasks(world.size - 1, 0);
	idle_run(world.now + 50);
	assert_true(world.answers[shortest] == 1 && world.found[shortest] &&
		    world.answer_of[shortest].tier == 0);
	idle_use(shortest);
	idle_run(world.now + 31000);
	assert_true(world.answers[middle] == 1 && world.found[middle] &&
		    world.answer_of[middle].tier == 1);
	assert_int_equal(world.answers[longest], 0);
	/* fewer may wait from now on: those that do stay */
	eh_idle_hold(world.nodes[0].idle, 15);
	late = idle_want(2, 20000);
	idle_run(world.now + 50);
	assert_true(world.answers[late] == 1 && world.answer_of[late].tier == 1);
	assert_int_equal(world.nodes[0].idle->nheld, 1);
	idle_end();
}

/* Behind others there, or with others here, on one processor and on two. */
static void test_slower(void **state)
{
	assert_false(eh_idle_is_slower(1600, 0, 1, 1));
	assert_true(eh_idle_is_slower(1601, 0, 1, 1));
	assert_false(eh_idle_is_slower(1600, 1, 3, 1));
	assert_true(eh_idle_is_slower(1300, 1, 1, 1));
	assert_false(eh_idle_is_slower(1249, 0, 1,
				       2)); /* a processor is free here, but that is as fast */
	assert_true(eh_idle_is_slower(1250, 0, 1, 2));
	assert_false(eh_idle_is_slower(1200, 3, 2, 2));
	assert_false(eh_idle_is_slower(1600, 0, 3, 2));
	assert_true(eh_idle_is_slower(1601, 0, 3, 2));
	assert_false(eh_idle_is_slower(100000, 15, UINT32_MAX, 1));
	assert_true(eh_idle_is_slower(100000, 15, 100, UINT32_MAX / 2));
}

/* One that nobody uses is there again: at once if it is returned, else after the lease. */
static void test_lease(void **state)
{
	uint64_t id, late;

	idle_begin(2, 2, 1);
	for (uint32_t i = 0; i < world.size; i++)
		idle_set_tasks(i, i == 9 ? 0 : 2);
	idle_run(50);
	id = idle_want(0, 0);
	idle_run(world.now + 50);
	assert_true(world.found[id] && world.answer_of[id].node == 9 &&
		    world.answer_of[id].tier == 0);
	late = idle_want(0, 0);
	idle_run(world.now + 50);
	assert_true(world.answers[late] == 1 && world.found[late] &&
		    world.answer_of[late].tier == 1);
	idle_step(0, (struct eh_idle_event){ .type = EH_IDLE_UNUSED,
					     .credit = world.answer_of[late] });
	idle_step(0,
		  (struct eh_idle_event){ .type = EH_IDLE_UNUSED, .credit = world.answer_of[id] });
	idle_run(world.now + 50);
	idle_use(id); /* too late */
	idle_run(world.now + 50);
	assert_int_equal(world.accepts, 0);
	id = idle_want(0, 0);
	idle_run(world.now + 50);
	assert_true(world.found[id] && world.answer_of[id].tier == 0);
	idle_run(world.now + 2 * HEARTBEAT + LEASE);
	idle_use(id); /* too late again */
	idle_run(world.now + 50);
	assert_int_equal(world.accepts, 0);
	idle_check_all_known();
	id = idle_want(0, 0);
	idle_run(world.now + 50);
	assert_true(world.found[id] && world.answer_of[id].node == 9 &&
		    world.answer_of[id].tier == 0);
	idle_use(id);
	idle_run(world.now + 50);
	assert_int_equal(world.accepts, 1);
	idle_end();
}

/* Its successor knows all credits within a heartbeat, and has let none be taken that the dead one had. */
static void test_death_of_controller(void **state)
{
	for (unsigned int round = 0; round < 20; round++) {
		uint32_t dead;
		uint64_t id;

		idle_begin(2, 2, 1 + random_below(3));
		world.delay = random_below(20);
		for (uint32_t i = 0; i < world.size; i++)
			idle_set_tasks(i, random_below(3));
		idle_run(100);
		idle_check_all_known();
		dead = 4 * random_below(4);
		id = idle_want(dead + 1 + random_below(3), 0);
		/* up two levels, to the group that has one, and back */
		idle_run(world.now + 8 * (world.delay + 1));
		assert_int_equal(world.answers[id], 1);
		eh_idle_free(world.nodes[dead].idle);
		world.nodes[dead].idle = NULL;
		for (uint32_t i = 0; i < world.size; i++)
			idle_step(i, (struct eh_idle_event){ .type = EH_IDLE_GONE, .node = dead });
		idle_set_roles();
		idle_run(world.now + HEARTBEAT);
		idle_check_known(dead, dead + 4);
		for (unsigned int k = 0; k < 12; k++)
			idle_want(dead + 1, 0);
		idle_run(world.now + 4 * world.delay + 10);
		if (world.found[id])
			idle_use(id);
		idle_run(world.now + 100);
		idle_end();
	}
}

/* Everything at once, for a long time; then peace, in which all must be as it is. */
static void storm(unsigned int n, unsigned int l, unsigned int c)
{
	uint64_t until = 40 * HEARTBEAT, first = 0;

	idle_begin(n, l, c);
	world.delay = random_below(60);
	world.loss = random_below(20);
	world.doubled = random_below(20);
	while (world.now < until) {
		uint32_t i = random_below(world.size);
		unsigned int what = random_below(100);

		if (what < 45 && world.nodes[i].idle) {
			if (world.nodes[i].tasks < c && random_below(2))
				idle_set_tasks(i, world.nodes[i].tasks + 1);
			else
				idle_want(i, random_below(2) ? random_below(2000) : 0);
		} else if (what < 90 && world.nodes[i].idle && world.nodes[i].tasks) {
			idle_set_tasks(i, world.nodes[i].tasks - 1);
		} else if (what == 98 && world.nodes[i].idle && i + 1 < world.size) {
			eh_idle_free(world.nodes[i].idle);
			world.nodes[i].idle = NULL;
			for (uint32_t k = 0; k < world.size && random_below(10); k++)
				idle_step(k, (struct eh_idle_event){ .type = EH_IDLE_GONE,
								     .node = i });
		} else if (what == 99) {
			for (i = 0; i < world.size && world.nodes[i].idle; i++)
				;
			if (i < world.size)
				idle_start(i);
			idle_set_roles();
		} else if (what == 97) {
			/* members notice */
			bool some = true;

			for (uint32_t k = 0; k < world.size; k += 1u << n) {
				bool any = false;

				for (uint32_t j = k; j < k + (1u << n); j++)
					any |= world.nodes[j].idle != NULL;
				some &= any;
			}
			for (uint32_t k = 0; k < world.size && !some; k++)
				if (!world.nodes[k].idle)
					idle_start(k);
			idle_set_roles();
		}
		idle_run(world.now + random_below(12));
		for (; first < world.nasks && !world.answers[first]; first++)
			;
		for (uint64_t id = first; id < world.nasks; id++)
			if (world.answers[id] == 1) {
				world.answers[id] = 2;
				if (world.found[id] && random_below(10))
					idle_use(id);
				else if (world.found[id])
					idle_step(i, (struct eh_idle_event){
							     .type = EH_IDLE_UNUSED,
							     .credit = world.answer_of[id] });
			}
	}
	assert_true(world.accepts > 100);
	world.loss = world.doubled = 0;
	for (uint32_t k = 0; k < world.size; k++)
		if (!world.nodes[k].idle)
			idle_start(k);
	idle_set_roles();
	/* a late credit may still be used, and its answer be late; then the leases end */
	idle_run(world.now + 4 * HEARTBEAT + 2 * LEASE + 4 * world.delay);
	idle_check_all_known();
	idle_end();
}

static void test_storm(void **state)
{
	for (unsigned int round = 0; round < 6; round++) {
		storm(2, 1, 1 + random_below(3));
		storm(2, 2, 1);
		storm(1, 3, 2);
		storm(3, 1, 1);
	}
}

/* Ranges and lives that no node would send change nothing, or no more than its own part. */
static void test_hostile(void **state)
{
	struct eh_pool *pool = eh_pool_new(2);
	static const struct eh_offer bad[] = {
		{ .life = 1, .version = 1, .processors = 1, .range = { 5, 4, 0 } },
		{ .life = 1, .version = 1, .processors = 1, .range = { 0, 65, ~0ull } },
		{ .life = 1, .version = 1, .processors = 1, .range = { 0, 33, 0 } },
		{ .life = 1, .version = 1, .processors = 0, .range = { 0, 9, 0 } },
	};
	struct eh_credit credit;
	uint64_t random = random_64();

	assert_non_null(pool);
	for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++)
		eh_pool_offer(pool, 1, 1, &bad[k], 0);
	assert_int_equal(eh_pool_best(pool).tier, EH_TIERS);
	idle_begin(2, 2, 1);
	for (unsigned int k = 0; k < 20000; k++) {
		struct eh_idle_message m;
		uint64_t words[(sizeof(m) + 7) / 8];

		for (size_t w = 0; w < sizeof(words) / 8; w++)
			words[w] = random_below(3) ? random_below(4) : random_64();
		memcpy(&m, words, sizeof(m));
		m.type = random_below(EH_IDLE_RETURN + 1);
		m.level = random_below(4);
		/* booleans and nodes are what the reader of the wire lets through */
		if (m.type == EH_IDLE_ANSWER)
			continue;
		if (m.type == EH_IDLE_ASK)
			m.ask = (struct eh_idle_ask){ .id = 0,
						      .home = random_below(world.size),
						      .hold_ms = random_below(100),
						      .tier = random_below(EH_TIERS + 2),
						      .hops = random_below(70),
						      .down = random_below(2),
						      .missed = random_below(2) };
		world.nasks = 1;
		world.found[0] = false;
		idle_hear(random_below(world.size), random_below(world.size), &m);
		idle_run(world.now + 1);
	}
	while (eh_pool_take(pool, EH_TIERS, 9, &random, &credit))
		;
	eh_pool_free(pool);
	idle_end();
}

/* As the module counts them, too (kmod/load_test.c). */
static void test_tasks_of_load(void **state)
{
	assert_int_equal(eh_credit_tasks(0), 0);
	assert_int_equal(eh_credit_tasks(EH_TASK / 2 - 1), 0);
	assert_int_equal(eh_credit_tasks(EH_TASK / 2), 1);
	assert_int_equal(eh_credit_tasks(EH_TASK * 3 / 2 - 1), 1);
	assert_int_equal(eh_credit_tasks(UINT64_MAX), UINT64_MAX / EH_TASK + 1);
}

/* A node, or a controller, that starts again with its clock set back is not kept out. */
static void test_clock_set_back(void **state)
{
	for (uint32_t back = 0; back < 2; back++) {
		idle_begin(2, 1, 1);
		for (uint32_t i = 0; i < world.size; i++) {
			eh_idle_free(world.nodes[i].idle);
			world.nodes[i].life = 1000;
			idle_start(i);
		}
		idle_set_roles();
		idle_run(50);
		idle_check_all_known();
		/* it is so short away that nobody else leads */
		eh_idle_free(world.nodes[back].idle);
		for (uint32_t i = 0; i < world.size; i++)
			if (i != back)
				idle_step(i, (struct eh_idle_event){ .type = EH_IDLE_GONE,
								     .node = back });
		world.nodes[back].life = 10;
		idle_start(back);
		idle_set_roles();
		idle_run(world.now + 2 * HEARTBEAT);
		idle_check_all_known();
		assert_int_equal(idle_credits(world.nodes[0].idle, 0), world.size);
		idle_end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_near),
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_held_order),
		cmocka_unit_test(test_slower),
		cmocka_unit_test(test_lease),
		cmocka_unit_test(test_death_of_controller),
		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_clock_set_back),
		cmocka_unit_test(test_tasks_of_load),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
