/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A world of members for tests: one that is like the agents', and what must hold of it at rest. */
#ifndef UNIT_WORLD_STEPS_H
#define UNIT_WORLD_STEPS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sim/world_inside.h"

#define HEARTBEAT 1000
#define NODES_MAX 64
/* Three heartbeats to notice, the search, and the claims that heal. */
#define SETTLE (16 * HEARTBEAT)

static uint8_t sides[NODES_MAX];
static bool is_whole;
static uint64_t seed;

static inline struct eh_world *world_new(unsigned int n, unsigned int l, uint64_t delay,
					 double loss, bool lazy, eh_world_watch_fn watch)
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

/* A living node's own values become these. */
static inline void world_own(struct eh_world *w, uint32_t node, const struct eh_report *own)
{
	assert_true(eh_world_alive(w, node));
	w->nodes[node].own = *own;
	w->nodes[node].touched = true;
	world_touch(w, node);
}

static inline bool together(uint32_t a, uint32_t b)
{
	return is_whole || sides[a] == sides[b];
}

/* The lowest living node of a node's group of this level, on its side. */
static inline uint32_t lowest(const struct eh_world *w, unsigned int n, uint32_t node,
			      unsigned int level)
{
	uint32_t i = node >> (n * level) << (n * level);

	while (!eh_world_alive(w, i) || !together(i, node))
		i++;
	return i;
}

static inline void check_sums(const struct eh_world *w, unsigned int n, uint32_t node,
			      unsigned int level, bool exact)
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

/* A node has the rule of its top. */
static inline void check_rule(const struct eh_world *w, uint32_t node, uint32_t top)
{
	struct eh_rule own = eh_member_rule(eh_world_member(w, node));
	struct eh_rule tops = eh_member_rule(eh_world_member(w, top));

	assert_int_equal(own.epoch, tops.epoch);
	assert_int_equal(own.load, tops.load);
	assert_int_equal(own.capacity, tops.capacity);
}

/* And its threshold is its share by that rule, where nobody has changed it or the capacity since. */
static inline void check_thresholds(const struct eh_world *w, unsigned int bits)
{
	for (uint32_t i = 0; i < 1u << bits; i++) {
		const struct eh_report *own;
		struct eh_rule rule;
		uint64_t share;

		if (!eh_world_alive(w, i))
			continue;
		own = eh_world_node(w, i);
		rule = eh_member_rule(eh_world_member(w, i));
		share = rule.epoch ? eh_share(rule.load, own->capacity, rule.capacity) : 2000;
		assert_int_equal(own->threshold, share < own->floor ? own->floor : share);
	}
}

/* One controller a group, the lowest; parents are theirs; sums are the nodes' own; one rule. */
static inline void check(const struct eh_world *w, unsigned int n, unsigned int l, bool exact)
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
		check_rule(w, i, lowest(w, n, i, l));
		for (unsigned int level = 1; level <= rank; level++)
			check_sums(w, n, i, level, exact);
	}
}

static inline void run(struct eh_world *w, uint64_t ms)
{
	assert_int_equal(eh_world_run(w, eh_world_now(w) + ms), 0);
}

static inline void start_all(struct eh_world *w, unsigned int bits)
{
	for (uint32_t i = 0; i < 1u << bits; i++)
		assert_int_equal(eh_world_start(w, i), 0);
}

#endif
