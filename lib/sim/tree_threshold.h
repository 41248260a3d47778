/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file tree_threshold.h
 * ThresholdModify for whole trees (paper 4, section 4; the lazy changes are what its section 5 leaves as
 * future work). After a change every node has T_i = ceil(L/2^nl) in whole tasks, L being the load of the
 * top. In a lazy tree only the top changes at once; the others follow with tree_threshold_ride() and the
 * like.
 */
#ifndef EH_TREE_THRESHOLD_H
#define EH_TREE_THRESHOLD_H

#include "tree_inside.h"

/** ThresholdModify of the paper: a new epoch. */
void tree_threshold_modify(struct eh_tree *t);
/** The rule on finish (paper 4, section 4): modify if T_top - L_top > 2^nl tasks. True: it was. */
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
