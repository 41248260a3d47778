// SPDX-License-Identifier: GPL-2.0-or-later
/* The tree's memory, its members, and the events that change it. */
#include "tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tree_hint.h"
#include "tree_inside.h"
#include "tree_lag.h"
#include "tree_policy.h"
#include "tree_threshold.h"

/*
 * Gives every array its place: 8-byte elements first, so that all are aligned.
 * Called with NULL to learn the size, then with the memory.
 */
static size_t place(struct eh_tree *t, char *memory)
{
	const struct eh_tree_options *o = &t->options;
	size_t at = (sizeof(*t) + 7) / 8 * 8, nodes = t->nodes, leaves = t->leaves;
	size_t controllers = nodes - leaves;

#define ARRAY(name, count)                               \
	do {                                             \
		if (memory)                              \
			t->name = (void *)(memory + at); \
		at += (count) * sizeof(t->name[0]);      \
	} while (0)

	ARRAY(load, nodes);
	ARRAY(threshold, nodes);
	ARRAY(sum_length, controllers);
	ARRAY(sum_capacity, controllers);
	t->own = t->load;
	if (o->lag)
		ARRAY(own, leaves);
	t->believed = t->threshold;
	if (o->lazy) {
		ARRAY(believed, nodes);
		ARRAY(basis_load, controllers);
		ARRAY(basis_capacity, controllers);
	}
	if (o->lazy)
		ARRAY(basis_epoch, controllers);
	ARRAY(leaf_length, leaves);
	ARRAY(leaf_capacity, leaves);
	if (o->bidirectional)
		ARRAY(offer, leaves);
	if (o->policy == EH_HINT) {
		ARRAY(least, controllers);
		ARRAY(least_node, controllers);
		ARRAY(hint_key, controllers);
		ARRAY(hint_to, controllers);
	}
#undef ARRAY
	return at;
}

/* For a new tree: each level's values are sums over the level below. */
static void sum_up(struct eh_tree *t)
{
	for (unsigned int level = 1; level <= t->l; level++) {
		uint32_t end = level < t->l ? t->offset[level + 1] : t->nodes;

		for (uint32_t v = t->offset[level]; v < end; v++) {
			uint32_t first = tree_first(t, v, level);

			for (uint32_t c = first; c < first + (1u << t->n); c++) {
				t->sum_length[v - t->leaves] += tree_length(t, c);
				t->sum_capacity[v - t->leaves] += tree_capacity(t, c);
			}
		}
	}
	tree_threshold_sums(t);
}

struct eh_tree *eh_tree_new(const struct eh_tree_options *options)
{
	const struct eh_topology *topology = &options->topology;
	struct eh_tree shape = { .options = *options, .n = topology->n, .l = topology->l };
	struct eh_tree *t;
	uint64_t nodes = 0;

	if (!shape.n || shape.n > EH_N_MAX || !shape.l || shape.l > EH_LEVELS_MAX ||
	    shape.n * shape.l > EH_BITS_MAX || options->threshold > EH_TREE_VALUE_MAX ||
	    options->length > EH_TREE_VALUE_MAX || options->floor > EH_TREE_VALUE_MAX ||
	    options->policy > EH_HINT)
		return NULL;
	for (unsigned int level = 0; level <= shape.l; level++) {
		shape.offset[level] = nodes;
		nodes += 1ull << shape.n * (shape.l - level);
	}
	shape.nodes = nodes;
	shape.leaves = shape.offset[1];
	shape.bytes = place(&shape, NULL);
	t = calloc(1, shape.bytes);
	if (!t)
		return NULL;
	*t = shape;
	place(t, (char *)t);
	t->two_state = options->policy == EH_ETA1 || options->policy == EH_ETA2;
	t->random = options->seed;
	t->uniform = true;
	t->unit = EH_TASK;
	t->lower = tree_lower(t, options->length);
	if (t->offer)
		memset(t->offer, 0xff, t->leaves * sizeof(t->offer[0]));
	if (!options->empty) {
		t->members = t->leaves;
		t->controllers = t->nodes - t->leaves;
		for (uint32_t i = 0; i < t->leaves; i++) {
			t->leaf_capacity[i] = EH_TASK;
			t->leaf_length[i] = t->two_state ? 0 : options->length;
			t->threshold[i] = t->believed[i] = options->threshold;
		}
		sum_up(t);
	}
	if (t->least)
		tree_hint_all(t);
	return t;
}

void eh_tree_free(struct eh_tree *tree)
{
	if (!tree)
		return;
	free(tree->late);
	free(tree);
}

void tree_up_modify(struct eh_tree *t, uint32_t leaf, int64_t delta)
{
	for (unsigned int level = 0; level <= t->l; level++)
		t->load[tree_ancestor(t, leaf, level)] += delta;
	t->counts.state_messages += t->l;
	if (t->least) {
		tree_hint_least(t, leaf);
		tree_hint_answer(t, leaf);
	}
}

static void leave(struct eh_tree *t, uint32_t leaf)
{
	tree_threshold_count(t, leaf, false);
	tree_lag_forget(t, leaf);
	for (unsigned int level = 1; level <= t->l; level++) {
		uint32_t v = tree_ancestor(t, leaf, level);

		t->load[v] -= t->load[leaf];
		t->sum_length[v - t->leaves] -= t->leaf_length[leaf];
		t->sum_capacity[v - t->leaves] -= t->leaf_capacity[leaf];
		t->controllers -= !t->sum_capacity[v - t->leaves];
	}
	t->total -= t->own[leaf];
	t->load[leaf] = t->own[leaf] = 0;
	t->threshold[leaf] = t->believed[leaf] = 0;
	t->leaf_length[leaf] = t->leaf_capacity[leaf] = 0;
	if (t->offer)
		t->offer[leaf] = EH_NO_CHILD;
	t->members--;
	t->counts.state_messages += t->l;
	if (t->least)
		tree_hint_least(t, leaf);
}

static void join(struct eh_tree *t, const struct eh_tree_event *event)
{
	uint32_t leaf = event->node;

	if (t->leaf_capacity[leaf])
		leave(t, leaf);
	if (!t->members) {
		t->uniform = true;
		t->unit = event->capacity;
		t->lower = tree_lower(t, event->length);
	}
	t->uniform = t->uniform && event->capacity == t->unit &&
		     tree_lower(t, event->length) == t->lower;
	t->members++;
	t->leaf_capacity[leaf] = event->capacity;
	t->leaf_length[leaf] = t->two_state ? 0 : event->length;
	t->threshold[leaf] = event->threshold;
	t->total += event->load;
	t->own[leaf] = event->load;
	t->load[leaf] = 0; /* added below; without lag it is `own` */
	for (unsigned int level = 1; level <= t->l; level++) {
		uint32_t v = tree_ancestor(t, leaf, level);

		t->controllers += !t->sum_capacity[v - t->leaves];
		t->sum_length[v - t->leaves] += t->leaf_length[leaf];
		t->sum_capacity[v - t->leaves] += t->leaf_capacity[leaf];
	}
	tree_threshold_count(t, leaf, true);
	tree_up_modify(t, leaf, event->load);
}

/* All that can fail is checked here, before anything changes. */
static int check(struct eh_tree *t, const struct eh_tree_event *event)
{
	uint64_t running;

	if (event->node >= t->leaves)
		return -EINVAL;
	running = t->own[event->node];
	if (event->type == EH_TREE_JOIN) {
		if (!event->capacity || event->capacity > EH_TREE_VALUE_MAX ||
		    event->length > EH_TREE_VALUE_MAX || event->threshold > EH_TREE_VALUE_MAX ||
		    event->load > EH_TREE_LOAD_MAX - (t->total - running))
			return -EINVAL;
		return 0;
	}
	if (!t->leaf_capacity[event->node])
		return -EINVAL;
	switch (event->type) {
	case EH_TREE_ARRIVE:
	case EH_TREE_PLACE:
		if (event->size > EH_TREE_LOAD_MAX - t->total)
			return -EINVAL;
		return t->options.lag ? tree_lag_reserve(t) : 0;
	case EH_TREE_FINISH:
		if (event->size > running)
			return -EINVAL;
		return t->options.lag ? tree_lag_reserve(t) : 0;
	case EH_TREE_LEAVE:
		return 0;
	default:
		return -EINVAL;
	}
}

int eh_tree_step(struct eh_tree *t, const struct eh_tree_event *event, uint64_t now,
		 struct eh_tree_update *update)
{
	int err;

	*update = (struct eh_tree_update){ .node = event->node };
	err = check(t, event);
	if (err)
		return err;
	if (now > t->now)
		t->now = now;
	if (t->late_count)
		tree_lag_deliver(t);
	if (event->type == EH_TREE_ARRIVE)
		tree_policy_arrive(t, event, update);
	else if (event->type == EH_TREE_FINISH)
		tree_policy_finish(t, event, update);
	else if (event->type == EH_TREE_JOIN)
		join(t, event);
	else if (event->type == EH_TREE_PLACE)
		tree_policy_place(t, event);
	else
		leave(t, event->node);
	if (!update->changed)
		update->changed = tree_threshold_raise(t);
	return 0;
}

int eh_tree_node(const struct eh_tree *t, struct eh_code code, struct eh_tree_node *out)
{
	uint32_t v;

	if (code.level > t->l || code.index >> t->n * (t->l - code.level))
		return -EINVAL;
	v = t->offset[code.level] + code.index;
	*out = (struct eh_tree_node){
		.present = tree_capacity(t, v) != 0,
		.load = t->load[v],
		.threshold = t->threshold[v],
		.believed = t->believed[v],
		.length = tree_length(t, v),
		.capacity = tree_capacity(t, v),
		.state = tree_judge(t, t->load[v], t->threshold[v], tree_length(t, v)),
	};
	return 0;
}

uint64_t eh_tree_load(const struct eh_tree *t, uint32_t node)
{
	return node < t->leaves ? t->own[node] : 0;
}

const struct eh_tree_counts *eh_tree_counts(const struct eh_tree *t)
{
	return &t->counts;
}

uint64_t eh_tree_epoch(const struct eh_tree *t)
{
	return t->epoch;
}

size_t eh_tree_bytes(const struct eh_tree *t)
{
	return t->bytes + t->late_size * sizeof(t->late[0]);
}
