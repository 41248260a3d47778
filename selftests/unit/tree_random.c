// SPDX-License-Identifier: GPL-2.0-or-later
#include "tree_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

struct eh_topology random_topology(void)
{
	static const struct eh_topology shapes[] = { { 3, 2 }, { 3, 1 }, { 2, 3 }, { 1, 5 },
						     { 4, 2 }, { 2, 1 }, { 1, 1 }, { 5, 1 } };

	return shapes[random_below(sizeof(shapes) / sizeof(shapes[0]))];
}

void tree_check_sums(const struct eh_tree *tree, const struct eh_topology *t, bool flat)
{
	for (unsigned int level = 1; level <= t->l; level++) {
		for (uint32_t i = 0; i < tree_count_of(t, level); i++) {
			struct tree_node v = tree_node_of(tree, level, i), sum = { 0 };

			for (uint32_t d = 0; d < 1u << t->n; d++) {
				struct tree_node c = tree_node_of(tree, level - 1, i << t->n | d);

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
