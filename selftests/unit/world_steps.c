// SPDX-License-Identifier: GPL-2.0-or-later
#include "world_steps.h"

#include <string.h>

uint8_t world_sides[NODES_MAX];
bool world_is_whole;
uint64_t world_seed;

struct eh_world *world_new(unsigned int n, unsigned int l, uint64_t delay, double loss, bool lazy,
			   eh_world_watch_fn watch)
{
	struct eh_world_options options = {
		.member = { .topology = { n, l },
			    .heartbeat_ms = HEARTBEAT,
			    .grant_ms = 2000,
			    .calm_ms = 2000,
			    .least = true,
			    .lazy = lazy,
			    .seed = world_seed },
		.delay = delay,
		.loss = loss,
		.refuse = delay,
		.ask_limit = 100 + 20 * delay,
		.own = { .threshold = 2000, .length = 1000, .floor = 1000, .capacity = 1000 },
	};
	struct eh_world *w = eh_world_new(&options, watch, NULL);

	assert_non_null(w);
	world_is_whole = true;
	return w;
}

void world_own(struct eh_world *w, uint32_t node, const struct eh_report *own)
{
	assert_true(eh_world_alive(w, node));
	w->nodes[node].own = *own;
	w->nodes[node].touched = true;
	world_touch(w, node);
}

static bool together(uint32_t a, uint32_t b)
{
	return world_is_whole || world_sides[a] == world_sides[b];
}

uint32_t world_lowest(const struct eh_world *w, unsigned int n, uint32_t node, unsigned int level)
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

/* A node has the rule of its top. */
static void check_rule(const struct eh_world *w, uint32_t node, uint32_t top)
{
	struct eh_rule own = eh_member_rule(eh_world_member(w, node));
	struct eh_rule tops = eh_member_rule(eh_world_member(w, top));

	assert_int_equal(own.epoch, tops.epoch);
	assert_int_equal(own.load, tops.load);
	assert_int_equal(own.capacity, tops.capacity);
}

void world_check_thresholds(const struct eh_world *w, unsigned int bits)
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

void world_check(const struct eh_world *w, unsigned int n, unsigned int l, bool exact)
{
	for (uint32_t i = 0; i < 1u << (n * l); i++) {
		const struct eh_member *m;
		unsigned int rank = 0;

		if (!eh_world_alive(w, i))
			continue;
		m = eh_world_member(w, i);
		while (rank < l && world_lowest(w, n, i, rank + 1) == i)
			rank++;
		if (eh_member_rank(m) != rank)
			print_message("node %u at %llu\n", i, (unsigned long long)eh_world_now(w));
		assert_int_equal(eh_member_rank(m), rank);
		assert_int_equal(eh_member_parent(m),
				 rank == l ? EH_NO_NODE : world_lowest(w, n, i, rank + 1));
		check_rule(w, i, world_lowest(w, n, i, l));
		for (unsigned int level = 1; level <= rank; level++)
			check_sums(w, n, i, level, exact);
	}
}

void world_run(struct eh_world *w, uint64_t ms)
{
	assert_int_equal(eh_world_run(w, eh_world_now(w) + ms), 0);
}

void world_start_all(struct eh_world *w, unsigned int bits)
{
	for (uint32_t i = 0; i < 1u << bits; i++)
		assert_int_equal(eh_world_start(w, i), 0);
}
