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

	return (struct tree_node){
		.load = t->load[v],
		.threshold = t->threshold[v],
		.believed = t->believed[v],
		.length = tree_length(t, level),
		.state = tree_judge(t, t->load[v], t->threshold[v], tree_length(t, level)),
	};
}

static inline uint32_t count_of(const struct eh_topology *t, unsigned int level)
{
	return 1u << t->n * (t->l - level);
}

#endif
