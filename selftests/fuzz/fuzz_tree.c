// SPDX-License-Identifier: GPL-2.0-or-later
/* Any options, any series of events on a whole tree: sums hold after each, one change a step, errors change nothing. */
#include <stdlib.h>
#include <string.h>

#include "selftests/unit/tree_look.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_sums(const struct eh_tree *tree, const struct eh_topology *t)
{
	for (unsigned int level = 1; level <= t->l; level++)
		for (uint32_t i = 0; i < tree_count_of(t, level); i++) {
			struct tree_node v = tree_node_of(tree, level, i);

			for (uint32_t d = 0; d < 1u << t->n; d++) {
				struct tree_node c = tree_node_of(tree, level - 1, i << t->n | d);

				v.load -= c.load;
				v.threshold -= c.believed;
				v.length -= c.length;
			}
			if (v.load || v.threshold || v.length)
				abort();
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct eh_topology shapes[] = { { 3, 2 }, { 2, 3 }, { 1, 4 }, { 3, 1 } };
	struct eh_tree_options o = { 0 };
	struct eh_tree *tree;
	uint64_t now = 0;

	if (size < 4)
		return 0;
	o.topology = shapes[data[0] % 4];
	o.policy = data[0] / 4 % 4;
	o.least = data[1] & 1;
	o.receiver_first = data[1] & 2;
	o.lazy = data[1] & 4;
	o.bidirectional = data[1] & 8;
	o.lag = data[1] & 32 ? data[2] : 0;
	o.threshold = data[2] * 100u;
	o.length = data[3] * 20u;
	tree = eh_tree_new(&o);
	for (data += 4, size -= 4; tree && size >= 4; data += 4, size -= 4) {
		/* large values are spread over the whole range */
		uint64_t value = (uint64_t)(data[2] & 15) << (data[2] >> 4) * 4;
		struct eh_tree_event e = { .type = data[0] % (EH_TREE_PLACE + 2),
					   .node = data[1] % 72,
					   .size = value };
		struct eh_tree_counts before = *eh_tree_counts(tree);
		struct eh_tree_update up;
		int err;

		now += data[3] % 4;
		err = eh_tree_step(tree, &e, now, &up);
		check_sums(tree, &o.topology);
		if (err) {
			if (memcmp(&before, eh_tree_counts(tree), sizeof(before)))
				abort();
			continue;
		}
		if (eh_tree_counts(tree)->changes - before.changes != up.changed ||
		    (up.refused && o.policy != EH_ETA2))
			abort();
	}
	eh_tree_free(tree);
	return 0;
}
