/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random trees of tests, and what must hold in every tree after every event. */
#ifndef UNIT_TREE_RANDOM_H
#define UNIT_TREE_RANDOM_H

#include "random.h"
#include "tree_look.h"

#define LEAVES_MAX 4096

/* Small trees of all shapes. */
struct eh_topology random_topology(void);

/*
 * Of each controller load, believed thresholds and lengths are the sums over its
 * children. With `flat` (no lazy changes) all nodes agree on all.
 */
void tree_check_sums(const struct eh_tree *tree, const struct eh_topology *t, bool flat);

#endif
