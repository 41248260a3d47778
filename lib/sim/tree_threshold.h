/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file tree_threshold.h
 * ThresholdModify for whole trees (paper 4, section 4; the lazy changes are what its section 5 leaves as
 * future work). After a change every node has T_i = ceil(L*w_i/W) in whole tasks, L and W being load and
 * capacity of the top: the paper's ceil(L/2^nl) where capacities are equal. In a lazy tree only the top
 * changes at once; the others follow with tree_threshold_ride() and the like.
 */
#ifndef EH_TREE_THRESHOLD_H
#define EH_TREE_THRESHOLD_H

#include "tree_inside.h"

/** For a new tree: the controllers' thresholds become sums of the leaves'. */
void tree_threshold_sums(struct eh_tree *t);
/** Adds a leaf's part to the thresholds of its ancestors, as their bases have it, or takes it away. */
void tree_threshold_count(struct eh_tree *t, uint32_t leaf, bool add);
/** The threshold of a leaf by what the controller v has heard. */
uint64_t tree_threshold_told(const struct eh_tree *t, uint32_t v, uint32_t leaf);
/** ThresholdModify of the paper: a new epoch. */
void tree_threshold_modify(struct eh_tree *t);
/** The rule on finish (paper 4, section 4): modify if T_top - L_top > 2^nl tasks, with members or their
 *  capacity, whichever is more, for 2^nl. True: it was. */
bool tree_threshold_relax(struct eh_tree *t);
/** EH_HINT only: modify as soon as the top is a sender, not when it is asked. True: it was. */
bool tree_threshold_raise(struct eh_tree *t);

/* How a newer threshold travels in a lazy tree; nothing happens in others. */

/** With a message from the ancestor of this level down to the leaf. */
void tree_threshold_ride(struct eh_tree *t, unsigned int level, uint32_t leaf);
/** With a task that the controller v elsewhere sends to the leaf: the leaf's reports then take it up
 *  until they reach a controller that has it. */
void tree_threshold_carry(struct eh_tree *t, uint32_t v, uint32_t leaf);
/** Over the one edge from v to its child c, which is on level `level`. */
void tree_threshold_pass(struct eh_tree *t, uint32_t v, uint32_t c, unsigned int level);

#endif
