/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file tree_hint.h
 * Hints (EH_HINT, docs/hierarchy.md; not in the paper): each controller knows the least loaded leaf
 * below it, and is told of one elsewhere in the answers to its reports.
 */
#ifndef EH_TREE_HINT_H
#define EH_TREE_HINT_H

#include "tree_inside.h"

/** A leaf's load has changed: updates `least` of all its ancestors. */
void tree_hint_least(struct eh_tree *t, uint32_t leaf);
/** Answers the report that has gone up from the leaf, on each level. */
void tree_hint_answer(struct eh_tree *t, uint32_t leaf);
/** Tells all controllers, as part of a broadcast. */
void tree_hint_all(struct eh_tree *t);
/** The leaf that home's ancestor of this level would send a task to. EH_NO_CHILD: each one it knows of
 *  is a sender. */
uint32_t tree_hint_node(const struct eh_tree *t, uint32_t home, unsigned int level);
/** That ancestor has sent a task of this size to the leaf `to`. */
void tree_hint_used(struct eh_tree *t, uint32_t home, unsigned int level, uint32_t to,
		    uint64_t size);

#endif
