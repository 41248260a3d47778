// SPDX-License-Identifier: GPL-2.0-or-later
#include "tree_look.h"

struct tree_node tree_node_of(const struct eh_tree *t, unsigned int level, uint32_t index)
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

uint32_t tree_count_of(const struct eh_topology *t, unsigned int level)
{
	return 1u << t->n * (t->l - level);
}
