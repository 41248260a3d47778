/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random trees of tests, and what must hold in every tree after every event. */
#ifndef UNIT_TREE_RANDOM_H
#define UNIT_TREE_RANDOM_H

#include "random.h"
#include "tree_look.h"

#define LEAVES_MAX 4096

/* Small trees of all shapes. */
static inline struct eh_topology random_topology(void)
{
	static const struct eh_topology shapes[] = { { 3, 2 }, { 3, 1 }, { 2, 3 }, { 1, 5 },
						     { 4, 2 }, { 2, 1 }, { 1, 1 }, { 5, 1 } };

	return shapes[random_below(sizeof(shapes) / sizeof(shapes[0]))];
}

/*
 * Of each controller load, believed thresholds and lengths are the sums over its
 * children. With `flat` (no lazy changes) all nodes agree on all.
 */
static inline void check_sums(const struct eh_tree *tree, const struct eh_topology *t, bool flat)
{
	for (unsigned int level = 1; level <= t->l; level++) {
		for (uint32_t i = 0; i < count_of(t, level); i++) {
			struct tree_node v = node_of(tree, level, i), sum = { 0 };

			for (uint32_t d = 0; d < 1u << t->n; d++) {
				struct tree_node c = node_of(tree, level - 1, i << t->n | d);

				sum.load += c.load;
				sum.threshold += c.believed;
				sum.length += c.length;
				if (flat)
					assert_int_equal(c.believed, c.threshold);
			}
			assert_int_equal(v.load, sum.load);
			assert_int_equal(v.threshold, sum.threshold);
			assert_int_equal(v.length, sum.length);
		}
	}
}

#endif
