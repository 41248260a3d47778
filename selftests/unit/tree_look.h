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

struct tree_node tree_node_of(const struct eh_tree *t, unsigned int level, uint32_t index);
/* Nodes of a level. */
uint32_t tree_count_of(const struct eh_topology *t, unsigned int level);

#endif
