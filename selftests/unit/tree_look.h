/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A record of the control information tree, by the inside of struct eh_tree. */
#ifndef UNIT_TREE_LOOK_H
#define UNIT_TREE_LOOK_H

#include "sim/tree_inside.h"

struct tree_node {
	uint64_t load; /* as its controller knows it: of a controller the sum of its children */
	uint64_t threshold; /* in force at the node: of a controller the sum its own tree has */
	/* The threshold in its controller's tree, which differs in a lazy tree only. The `threshold`
	 * of a controller always is the sum of the `believed` of its children (definition 2.1). */
	uint64_t believed;
	uint64_t length;
	enum eh_state state; /* of these values (definition 2.2) */
};

static inline struct tree_node node_of(const struct eh_tree *t, unsigned int level, uint32_t index)
{
	const uint32_t v = t->offset[level] + index;
	const uint32_t parent = level < t->l ? t->offset[level + 1] + (index >> t->n) : v;
	const uint64_t threshold = tree_told(t, v, level);

	return (struct tree_node){
		.load = t->load[v],
		.threshold = threshold,
		.believed = tree_told(t, parent, level),
		.length = tree_length(t, level),
		.state = tree_judge(t, t->load[v], threshold, tree_length(t, level)),
	};
}

static inline uint32_t count_of(const struct eh_topology *t, unsigned int level)
{
	return 1u << t->n * (t->l - level);
}

#endif
