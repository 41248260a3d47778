// SPDX-License-Identifier: GPL-2.0-or-later
#include "search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int box_push(struct box_heap *heap, struct box box)
{
	struct box *more = plan_grow(heap->box, sizeof(*more), heap->count, &heap->room);
	size_t at = heap->count;

	if (!more)
		return -ENOMEM;
	heap->box = more;
	heap->count++;
	for (; at && heap->box[(at - 1) / 2].bound > box.bound; at = (at - 1) / 2)
		heap->box[at] = heap->box[(at - 1) / 2];
	heap->box[at] = box;
	return 0;
}

struct box box_pop(struct box_heap *heap)
{
	struct box first = heap->box[0], last = heap->box[--heap->count];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < heap->count) {
		if (child + 1 < heap->count && heap->box[child + 1].bound < heap->box[child].bound)
			child++;
		if (heap->box[child].bound >= last.bound)
			break;
		heap->box[at] = heap->box[child];
		at = child;
	}
	if (heap->count)
		heap->box[at] = last;
	return first;
}

int box_push_copy(struct box_heap *heap, struct box box, uint32_t n, uint32_t i,
		  struct box_limit limit)
{
	const struct box_limit *settled = box.limits;
	int err;

	if (settled || i) {
		box.limits = malloc(n * sizeof(*box.limits));
		if (!box.limits)
			return -ENOMEM;
		for (uint32_t k = 0; k < n; k++)
			box.limits[k] = settled ? settled[k] : (struct box_limit){ BOX_FREE, 0, 1 };
		if (i)
			box.limits[i] = limit;
	}
	err = box_push(heap, box);
	if (err)
		free(box.limits);
	return err;
}

void box_heap_end(struct box_heap *heap)
{
	while (heap->count)
		free(heap->box[--heap->count].limits);
	free(heap->box);
	*heap = (struct box_heap){ 0 };
}
