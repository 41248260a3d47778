// SPDX-License-Identifier: GPL-2.0-or-later
#include "tree_lag.h"

#include <errno.h>
#include <stdlib.h>

static struct late *late_at(const struct eh_tree *t, size_t i)
{
	return &t->late[(t->late_first + i) & (t->late_size - 1)];
}

int tree_lag_reserve(struct eh_tree *t)
{
	size_t size = t->late_size ? t->late_size * 2 : 64;
	struct late *ring;

	if (t->late_count < t->late_size)
		return 0;
	ring = malloc(size * sizeof(ring[0]));
	if (!ring)
		return -ENOMEM;
	for (size_t i = 0; i < t->late_count; i++)
		ring[i] = *late_at(t, i);
	free(t->late);
	t->late = ring;
	t->late_size = size;
	t->late_first = 0;
	return 0;
}

void tree_lag_add(struct eh_tree *t, uint32_t leaf, int64_t delta)
{
	*late_at(t, t->late_count++) = (struct late){
		.due = t->now + t->options.lag,
		.delta = delta,
		.leaf = leaf,
	};
}

void tree_lag_deliver(struct eh_tree *t)
{
	while (t->late_count && late_at(t, 0)->due <= t->now) {
		struct late *late = late_at(t, 0);

		t->late_first++;
		t->late_count--;
		tree_up_modify(t, late->leaf, late->delta);
	}
}
