// SPDX-License-Identifier: GPL-2.0-or-later
/* The tree's memory, and the events that change it. */
#include "tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tree_hint.h"
#include "tree_inside.h"
#include "tree_policy.h"
#include "tree_threshold.h"
#include "tree_up.h"

/*
 * Gives every array its place: 8-byte elements first, so that all are aligned.
 * Called with NULL to learn the size, then with the memory.
 */
static size_t tree_place(struct eh_tree *t, char *memory)
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
	t->own = t->load;
	if (o->lag)
		ARRAY(own, leaves);
	if (o->lazy) {
		ARRAY(told, nodes);
		ARRAY(epoch, controllers);
	}
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
	shape.bytes = tree_place(&shape, NULL);
	t = calloc(1, shape.bytes);
	if (!t)
		return NULL;
	*t = shape;
	tree_place(t, (char *)t);
	t->two_state = options->policy == EH_ETA1 || options->policy == EH_ETA2;
	t->random = options->seed;
	t->late.each = sizeof(struct tree_late);
	t->length = t->two_state ? 0 : options->length;
	if (t->offer)
		memset(t->offer, 0xff, t->leaves * sizeof(t->offer[0]));
	t->threshold = options->threshold;
	for (uint32_t v = 0; t->told && v < t->nodes; v++)
		t->told[v] = options->threshold;
	if (t->least)
		tree_hint_all(t);
	return t;
}

void eh_tree_free(struct eh_tree *tree)
{
	if (!tree)
		return;
	ring_free(&tree->late);
	free(tree);
}

/* The reports that are due. */
static void tree_deliver(struct eh_tree *t)
{
	const struct tree_late *late;

	while ((late = ring_first(&t->late)) && late->due <= t->now) {
		tree_up_modify(t, late->leaf, late->delta);
		ring_drop(&t->late);
	}
}

/* All that can fail is checked here, before anything changes. */
static int tree_check(struct eh_tree *t, const struct eh_tree_event *event)
{
	uint64_t most;

	if (event->node >= t->leaves || event->type > EH_TREE_PLACE)
		return -EINVAL;
	most = event->type == EH_TREE_FINISH ? t->own[event->node] : EH_TREE_LOAD_MAX - t->total;
	if (event->size > most)
		return -EINVAL;
	return t->options.lag && !ring_reserve(&t->late) ? -ENOMEM : 0;
}

int eh_tree_step(struct eh_tree *t, const struct eh_tree_event *event, uint64_t now,
		 struct eh_tree_update *update)
{
	int err;

	*update = (struct eh_tree_update){ .node = event->node };
	err = tree_check(t, event);
	if (err)
		return err;
	if (now > t->now)
		t->now = now;
	tree_deliver(t);
	if (event->type == EH_TREE_ARRIVE)
		tree_policy_arrive(t, event, update);
	else if (event->type == EH_TREE_FINISH)
		tree_policy_finish(t, event, update);
	else
		tree_policy_place(t, event);
	if (!update->changed)
		update->changed = tree_threshold_raise(t);
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

size_t eh_tree_bytes(const struct eh_tree *t)
{
	return t->bytes + t->late.size * t->late.each;
}
