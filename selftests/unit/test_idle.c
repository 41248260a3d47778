// SPDX-License-Identifier: GPL-2.0-or-later
/* Credits (lib/eh/idle.h) over a network that loses, doubles and delays messages, while nodes die: none is accepted
 * twice, none is lost for long, and no ask stays without an answer. */
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
		world_begin(shapes[s][0], shapes[s][1], shapes[s][2]);
		run(50);
		for (unsigned int k = 0; k < EH_TIERS * size * processors; k++) {
			uint64_t id = want(random_below(size), 0);

			run(now + 50);
			assert_true(answers[id] == 1 && found[id]);
			assert_int_equal(answer_of[id].tier, k / (size * processors));
			use(id);
			run(now + 50);
		}
		assert_int_equal(accepts, EH_TIERS * size * processors);
		assert_int_equal(declines, 0);
		assert_false(found[want(0, 0)]);
		run(now + 50);
		check_all_known();
		world_end();
	}
}

/* The ask finds what is nearest: in its own group it takes one message up and one back. */
static void test_near(void **state)
{
	uint64_t id;

	world_begin(3, 2, 1);
	run(50);
	sent = 0;
	id = want(13, 0);
	run(now + 20);
	assert_true(found[id] && answer_of[id].node / 8 == 1);
	assert_int_equal(sent, 2);
	/* that it is used is no news to the controller, which has let it be taken */
	use(id);
	run(now + 20);
	assert_int_equal(accepts, 1);
	assert_int_equal(sent, 2);
	world_end();
}

/* With all processors busy an ask waits for the first that is free. */
static void test_held(void **state)
{
	for (unsigned int l = 1; l <= 3; l++) {
		uint64_t ids[8], late;

		world_begin(2, l, 1);
		for (uint32_t i = 0; i < size; i++)
			set_tasks(i, 1);
		run(50);
		for (unsigned int k = 0; k < 8; k++)
			ids[k] = want(random_below(size), 60000);
		run(now + 100);
		for (unsigned int k = 0; k < 8; k++)
			assert_int_equal(answers[ids[k]], 0);
		assert_int_equal(nodes[0].idle->nheld, 8);
		/* no more may wait: this one goes one task ahead */
		late = want(size - 1, 60000);
		run(now + 50);
		assert_true(answers[late] == 1 && found[late] && answer_of[late].tier == 1);
		step(size - 1,
		     (struct eh_idle_event){ .type = EH_IDLE_UNUSED, .credit = answer_of[late] });
		/* four end at the same time in one group, or all there is */
		for (uint32_t i = size - 4; i < size; i++)
			set_tasks(i, 0);
		run(now + 50);
		assert_int_equal(nodes[0].idle->nheld, 4);
		for (unsigned int k = 0; k < 8; k++) {
			assert_int_equal(answers[ids[k]], answers[ids[k]] != 0);
			if (answers[ids[k]]) {
				assert_true(found[ids[k]] && answer_of[ids[k]].tier == 0);
				use(ids[k]);
			}
		}
		run(now + 50);
		assert_int_equal(accepts, 4);
		/* the others at their deadline */
		run(now + 61000);
		for (unsigned int k = 0; k < 8; k++)
			assert_int_equal(answers[ids[k]], 1);
		assert_int_equal(nodes[0].idle->nheld, 0);
		world_end();
	}
}

/* Of those that wait, that whose time ends first gets the first processor; or has waited, when it ends. */
static void test_held_order(void **state)
{
	uint64_t longest, shortest, middle, late;

	world_begin(2, 2, 1);
	for (uint32_t i = 0; i < size; i++)
		set_tasks(i, 1);
	run(50);
	longest = want(1, 60000);
	run(now + 50);
	middle = want(2, 30000);
	shortest = want(3, 20000);
	run(now + 50);
	assert_int_equal(nodes[0].idle->nheld, 3);
	set_tasks(size - 1, 0);
	run(now + 50);
	assert_true(answers[shortest] == 1 && found[shortest] && answer_of[shortest].tier == 0);
	use(shortest);
	run(now + 31000);
	assert_true(answers[middle] == 1 && found[middle] && answer_of[middle].tier == 1);
	assert_int_equal(answers[longest], 0);
	/* fewer may wait from now on: those that do stay */
	eh_idle_hold(nodes[0].idle, 15);
	late = want(2, 20000);
	run(now + 50);
	assert_true(answers[late] == 1 && answer_of[late].tier == 1);
	assert_int_equal(nodes[0].idle->nheld, 1);
	world_end();
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

	world_begin(2, 2, 1);
	for (uint32_t i = 0; i < size; i++)
		set_tasks(i, i == 9 ? 0 : 2);
	run(50);
	id = want(0, 0);
	run(now + 50);
	assert_true(found[id] && answer_of[id].node == 9 && answer_of[id].tier == 0);
	late = want(0, 0);
	run(now + 50);
	assert_true(answers[late] == 1 && found[late] && answer_of[late].tier == 1);
	step(0, (struct eh_idle_event){ .type = EH_IDLE_UNUSED, .credit = answer_of[late] });
	step(0, (struct eh_idle_event){ .type = EH_IDLE_UNUSED, .credit = answer_of[id] });
	run(now + 50);
	use(id); /* too late */
	run(now + 50);
	assert_int_equal(accepts, 0);
	id = want(0, 0);
	run(now + 50);
	assert_true(found[id] && answer_of[id].tier == 0);
	run(now + 2 * HEARTBEAT + LEASE);
	use(id); /* too late again */
	run(now + 50);
	assert_int_equal(accepts, 0);
	check_all_known();
	id = want(0, 0);
	run(now + 50);
	assert_true(found[id] && answer_of[id].node == 9 && answer_of[id].tier == 0);
	use(id);
	run(now + 50);
	assert_int_equal(accepts, 1);
	world_end();
}

/* Its successor knows all credits within a heartbeat, and has let none be taken that the dead one had. */
static void test_death_of_controller(void **state)
{
	for (unsigned int round = 0; round < 20; round++) {
		uint32_t dead;
		uint64_t id;

		world_begin(2, 2, 1 + random_below(3));
		delay = random_below(20);
		for (uint32_t i = 0; i < size; i++)
			set_tasks(i, random_below(3));
		run(100);
		check_all_known();
		dead = 4 * random_below(4);
		id = want(dead + 1 + random_below(3), 0);
		/* up two levels, to the group that has one, and back */
		run(now + 8 * (delay + 1));
		assert_int_equal(answers[id], 1);
		eh_idle_free(nodes[dead].idle);
		nodes[dead].idle = NULL;
		for (uint32_t i = 0; i < size; i++)
			step(i, (struct eh_idle_event){ .type = EH_IDLE_GONE, .node = dead });
		set_roles();
		run(now + HEARTBEAT);
		check_known(dead, dead + 4);
		for (unsigned int k = 0; k < 12; k++)
			want(dead + 1, 0);
		run(now + 4 * delay + 10);
		if (found[id])
			use(id);
		run(now + 100);
		world_end();
	}
}

/* Everything at once, for a long time; then peace, in which all must be as it is. */
static void storm(unsigned int n, unsigned int l, unsigned int c)
{
	uint64_t until = 40 * HEARTBEAT, first = 0;

	world_begin(n, l, c);
	delay = random_below(60);
	loss = random_below(20);
	doubled = random_below(20);
	while (now < until) {
		uint32_t i = random_below(size);
		unsigned int what = random_below(100);

		if (what < 45 && nodes[i].idle) {
			if (nodes[i].tasks < c && random_below(2))
				set_tasks(i, nodes[i].tasks + 1);
			else
				want(i, random_below(2) ? random_below(2000) : 0);
		} else if (what < 90 && nodes[i].idle && nodes[i].tasks) {
			set_tasks(i, nodes[i].tasks - 1);
		} else if (what == 98 && nodes[i].idle && i + 1 < size) {
			eh_idle_free(nodes[i].idle);
			nodes[i].idle = NULL;
			for (uint32_t k = 0; k < size && random_below(10); k++)
				step(k, (struct eh_idle_event){ .type = EH_IDLE_GONE, .node = i });
		} else if (what == 99) {
			for (i = 0; i < size && nodes[i].idle; i++)
				;
			if (i < size)
				start(i);
			set_roles();
		} else if (what == 97) {
			/* members notice */
			bool some = true;

			for (uint32_t k = 0; k < size; k += 1u << n) {
				bool any = false;

				for (uint32_t j = k; j < k + (1u << n); j++)
					any |= nodes[j].idle != NULL;
				some &= any;
			}
			for (uint32_t k = 0; k < size && !some; k++)
				if (!nodes[k].idle)
					start(k);
			set_roles();
		}
		run(now + random_below(12));
		for (; first < nasks && !answers[first]; first++)
			;
		for (uint64_t id = first; id < nasks; id++)
			if (answers[id] == 1) {
				answers[id] = 2;
				if (found[id] && random_below(10))
					use(id);
				else if (found[id])
					step(i, (struct eh_idle_event){ .type = EH_IDLE_UNUSED,
									.credit = answer_of[id] });
			}
	}
	assert_true(accepts > 100);
	loss = doubled = 0;
	for (uint32_t k = 0; k < size; k++)
		if (!nodes[k].idle)
			start(k);
	set_roles();
	/* a late credit may still be used, and its answer be late; then the leases end */
	run(now + 4 * HEARTBEAT + 2 * LEASE + 4 * delay);
	check_all_known();
	world_end();
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
	world_begin(2, 2, 1);
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
						      .home = random_below(size),
						      .hold_ms = random_below(100),
						      .tier = random_below(EH_TIERS + 2),
						      .hops = random_below(70),
						      .down = random_below(2),
						      .missed = random_below(2) };
		nasks = 1;
		found[0] = false;
		hear(random_below(size), random_below(size), &m);
		run(now + 1);
	}
	while (eh_pool_take(pool, EH_TIERS, 9, &random, &credit))
		;
	eh_pool_free(pool);
	world_end();
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
		world_begin(2, 1, 1);
		for (uint32_t i = 0; i < size; i++) {
			eh_idle_free(nodes[i].idle);
			nodes[i].life = 1000;
			start(i);
		}
		set_roles();
		run(50);
		check_all_known();
		/* it is so short away that nobody else leads */
		eh_idle_free(nodes[back].idle);
		for (uint32_t i = 0; i < size; i++)
			if (i != back)
				step(i,
				     (struct eh_idle_event){ .type = EH_IDLE_GONE, .node = back });
		nodes[back].life = 10;
		start(back);
		set_roles();
		run(now + 2 * HEARTBEAT);
		check_all_known();
		assert_int_equal(idle_credits(nodes[0].idle, 0), size);
		world_end();
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
