/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file tree_up.h  Loads on their way up the tree. For lib/sim only. */
#ifndef EH_TREE_UP_H
#define EH_TREE_UP_H

#include "tree_inside.h"

/** The paper's UpModify (paper 4, section 5): the leaf's load as its ancestors know it changes by
 *  `delta`, in thousandths, and with it the sums of all ancestors and, with EH_HINT, what they know of
 *  the least loaded nodes. */
void tree_up_modify(struct eh_tree *t, uint32_t leaf, int64_t delta);

#endif
