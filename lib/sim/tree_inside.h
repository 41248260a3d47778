/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file tree_inside.h
 * Inside of struct eh_tree, for the files of the tree (tree*.c) only. Loads, thresholds, lengths and
 * capacities are thousandths of a task; a leaf is a node, and v, c stand for any node or controller.
 */
#ifndef EH_TREE_INSIDE_H
#define EH_TREE_INSIDE_H

#include "ring.h"
#include "tree.h"

/** A report on its way up. */
struct tree_late {
	uint64_t due; /**< when it arrives, in the driver's time */
	int64_t delta; /**< change of the load */
	uint32_t leaf;
};

/**
 * The control information tree (CIT) of paper 4, section 3, as a structure of
 * arrays: level after level from the leaves (the nodes) up, so that the 2^n
 * children of a controller are side by side. Where an option is not used, its
 * arrays are absent, or the same array has two names so that the code need not
 * test the option.
 *
 * Shapes: "nodes" arrays have an element per node and controller; "leaves" per
 * node; "controllers" per controller, where v is at v - leaves.
 */
struct eh_tree {
	struct eh_tree_options options;
	unsigned int n, l;
	uint32_t leaves, nodes; /**< leaves are 0..leaves-1, the top is nodes-1 */
	uint32_t offset[EH_LEVELS_MAX + 1]; /**< first node of a level */
	bool two_state; /**< no length: ETA1, ETA2 */
	uint64_t length; /**< of each leaf */
	uint64_t threshold; /**< of each leaf, by the last change; if lazy, the top's view */
	uint64_t total; /**< load that runs */
	uint64_t random, now;
	struct eh_tree_counts counts;
	size_t bytes; /**< of this struct with its arrays */

	uint64_t *load; /**< nodes; as the parent knows it */
	uint64_t *own; /**< leaves; as it is. Without lag the same array as `load` */
	/** nodes; lazy: the threshold of each leaf, as this node has heard of it last */
	uint64_t *told;
	uint32_t *epoch; /**< controllers; lazy: the number of the change that it has heard of */

	/* controllers; EH_HINT */
	uint32_t *least; /**< lowest key of a leaf below (tree_hint.c) */
	uint32_t *least_node; /**< that leaf */
	uint32_t *hint_key; /**< key of the least loaded leaf elsewhere, as told from above */
	uint32_t *hint_to; /**< that leaf; unused at the top */

	uint32_t *offer; /**< leaves; bidirectional: the receiver that will take a task */

	struct ring late; /**< lag: of struct tree_late */
};

/** The ancestor of a leaf on this level; level 0: the leaf. */
static inline uint32_t tree_ancestor(const struct eh_tree *t, uint32_t leaf, unsigned int level)
{
	return t->offset[level] + (leaf >> t->n * level);
}

static inline uint32_t tree_top(const struct eh_tree *t)
{
	return t->nodes - 1;
}

/** First child of the controller v of this level. */
static inline uint32_t tree_first(const struct eh_tree *t, uint32_t v, unsigned int level)
{
	return t->offset[level - 1] + ((v - t->offset[level]) << t->n);
}

/** Threshold length of what is on this level: the sum of the leaves'. */
static inline uint64_t tree_length(const struct eh_tree *t, unsigned int level)
{
	return t->length << t->n * level;
}

/** Threshold of what is on this level, the sum of the leaves', by what the node v has heard. */
static inline uint64_t tree_told(const struct eh_tree *t, uint32_t v, unsigned int level)
{
	return (t->told ? t->told[v] : t->threshold) << t->n * level;
}

/** State of paper 4, section 2; with two states a node is a receiver or a sender. */
static inline enum eh_state tree_judge(const struct eh_tree *t, uint64_t load, uint64_t threshold,
				       uint64_t length)
{
	if (t->two_state)
		return load < threshold ? EH_RECEIVER : EH_SENDER;
	return eh_state(load, threshold, length);
}

/** State of v, on this level, as it sees itself: a leaf knows its load, whatever its parent believes. */
static inline enum eh_state tree_state(const struct eh_tree *t, uint32_t v, unsigned int level)
{
	return tree_judge(t, level ? t->load[v] : t->own[v], tree_told(t, v, level),
			  tree_length(t, level));
}

#endif
