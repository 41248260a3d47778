// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The decision core without memory: each allocation in turn fails, the error is
 * reported, nothing has changed, and the same event then does what it does in a
 * group that never had the trouble. Linked with --wrap for the allocators.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "eh/eh.h"
#include "sim/tree.h"
#include "sim/world.h"
#include "oom.h"
#include "random.h"

struct updates {
	struct eh_update list[64];
	unsigned int n;
};

static void emit(void *ctx, const struct eh_update *update)
{
	struct updates *to = ctx;

	assert_true(to->n < 64);
	to->list[to->n++] = *update;
}

static void same_updates(const struct updates *a, const struct updates *b)
{
	assert_int_equal(a->n, b->n);
	for (unsigned int i = 0; i < a->n; i++) {
		assert_int_equal(a->list[i].type, b->list[i].type);
		assert_int_equal(a->list[i].child, b->list[i].child);
		assert_int_equal(a->list[i].id, b->list[i].id);
		assert_int_equal(a->list[i].threshold, b->list[i].threshold);
		assert_int_equal(a->list[i].epoch, b->list[i].epoch);
	}
}

static void same_groups(const struct eh_group *a, const struct eh_group *b)
{
	struct eh_sums x, y;

	for (unsigned int i = 0; i < 8; i++) {
		struct eh_child c = { 0 }, d = { 0 };

		assert_int_equal(eh_group_child(a, i, &c), eh_group_child(b, i, &d));
		assert_int_equal(c.own.load, d.own.load);
		assert_int_equal(c.own.threshold, d.own.threshold);
		assert_int_equal(c.own.draining, d.own.draining);
	}
	eh_group_sums(a, &x);
	eh_group_sums(b, &y);
	assert_int_equal(x.load, y.load);
	assert_int_equal(x.epoch, y.epoch);
}

static const struct eh_group_options options = {
	.n = 3, .least = true, .grant_ms = 1000, .calm_ms = 1000, .seed = 5
};

static void test_new(void **state)
{
	struct eh_group *group;

	oom_until = 1;
	group = eh_group_new(&options);
	assert_int_equal(oom_until, 0);
	assert_null(group);
}

/* Hundreds of grants, so that their table is made, and grown several times. */
static void test_steps(void **state)
{
	struct eh_group *lucky = eh_group_new(&options), *unlucky = eh_group_new(&options);
	unsigned int failures = 0, most = 0;

	random_begin();
	assert_non_null(lucky);
	assert_non_null(unlucky);
	for (uint64_t i = 0; i < 3000; i++) {
		struct eh_event e = { .type = i < 8		? EH_EV_JOIN
					      : random_below(8) ? EH_EV_ARRIVE
								: EH_EV_REPORT,
				      .child = i < 8 ? i : random_below(8) };
		struct updates with = { .n = 0 }, without = { .n = 0 };
		uint64_t now = i;
		int err;

		if (e.type == EH_EV_JOIN)
			e.join = (struct eh_report){ .load = random_below(30000),
						     .threshold = 2000,
						     .length = 1000,
						     .capacity = 1 + random_below(3000) };
		else if (e.type == EH_EV_ARRIVE)
			e.arrive = (struct eh_event_arrive){ .id = random_below(4) ? i : i / 2,
							     .size = random_below(2000) };
		else
			e.report.load = random_below(30000);

		for (unsigned int nth = 1;; nth++) {
			without.n = 0;
			oom_until = nth;
			err = eh_group_step(unlucky, &e, now, emit, &without);
			if (oom_until) { /* it needed fewer */
				oom_until = 0;
				most = nth - 1 > most ? nth - 1 : most;
				break;
			}
			assert_int_equal(err, -ENOMEM);
			assert_int_equal(without.n, 0);
			same_groups(lucky, unlucky);
			failures++;
		}
		assert_int_equal(err, 0);
		assert_int_equal(eh_group_step(lucky, &e, now, emit, &with), 0);
		same_updates(&with, &without);
		same_groups(lucky, unlucky);
	}
	/* the grant, its table, a larger table */
	assert_true(failures > 1000 && most >= 2);
	eh_group_free(lucky);
	eh_group_free(unlucky);
}

/* A tree is one allocation; its late reports need room that grows. */
static void test_tree(void **state)
{
	const struct eh_tree_options late = { .topology = { 3, 1 },
					      .length = 1000,
					      .lag = 1u << 20 };
	struct eh_tree *lucky, *unlucky;
	unsigned int failures = 0;

	oom_until = 1;
	assert_null(eh_tree_new(&late));
	assert_int_equal(oom_until, 0);
	lucky = eh_tree_new(&late);
	unlucky = eh_tree_new(&late);
	assert_non_null(lucky);
	assert_non_null(unlucky);
	for (unsigned int i = 0; i < 3000; i++) {
		struct eh_tree_event e = { .type = i % 5 ? EH_TREE_ARRIVE : EH_TREE_FINISH,
					   .node = i % 8,
					   .size = i % 5 ? 1000 : 0 };
		struct eh_tree_update with, without;
		int err;

		oom_until = 1;
		err = eh_tree_step(unlucky, &e, i, &without);
		if (!oom_until) {
			assert_int_equal(err, -ENOMEM);
			failures++;
			err = eh_tree_step(unlucky, &e, i, &without);
		}
		oom_until = 0;
		assert_int_equal(err, 0);
		assert_int_equal(eh_tree_step(lucky, &e, i, &with), 0);
		assert_int_equal(with.node, without.node);
		assert_int_equal(with.probes, without.probes);
		assert_memory_equal(eh_tree_counts(lucky), eh_tree_counts(unlucky),
				    sizeof(struct eh_tree_counts));
	}
	/* 256, 512, … 4096 */
	assert_int_equal(failures, 5);
	eh_tree_free(lucky);
	eh_tree_free(unlucky);
}

/* A cluster that starts and works while one allocation fails, of a member or of its messages: later all is right. */
static void test_members(void **state)
{
	const struct eh_world_options cluster = {
		.member = { .topology = { 2, 2 },
			    .heartbeat_ms = 1000,
			    .grant_ms = 2000,
			    .calm_ms = 2000,
			    .least = true,
			    .seed = 3 },
		.delay = 5,
		.refuse = 5,
		.ask_limit = 200,
		.own = { .threshold = 2000, .length = 1000, .capacity = 1000 },
	};
	unsigned int reported = 0;

	for (int at = 1; at < 3000; at += at < 200 ? 1 : 37) {
		struct eh_world *w = eh_world_new(&cluster, NULL, NULL);
		struct eh_sums sums;
		int err = 0;

		assert_non_null(w);
		oom_until = at;
		for (uint32_t i = 0; i < 16; i++)
			err |= eh_world_start(w, i);
		for (uint64_t id = 1; id <= 40; id++) {
			err |= eh_world_arrive(w, 15, id, 1000);
			err |= eh_world_run(w, eh_world_now(w) + 100);
		}
		reported += err != 0;
		oom_until = 0;
		/* what did not start for lack of memory is started again */
		for (uint32_t i = 0; i < 16; i++)
			if (!eh_world_alive(w, i))
				assert_int_equal(eh_world_start(w, i), 0);
		assert_int_equal(eh_world_run(w, eh_world_now(w) + 40000), 0);
		assert_int_equal(eh_member_sums(eh_world_member(w, 0), 2, &sums), 0);
		assert_int_equal(sums.nodes, 16);
		for (uint32_t i = 1; i < 16; i++)
			assert_int_not_equal(eh_member_parent(eh_world_member(w, i)), EH_NO_NODE);
		eh_world_free(w);
	}
	assert_true(reported > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_new),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
