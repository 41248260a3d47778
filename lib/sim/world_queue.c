// SPDX-License-Identifier: GPL-2.0-or-later
#include "world_queue.h"

#include <errno.h>
#include <stdlib.h>

static bool queue_is_sooner(const struct world_happening *a, const struct world_happening *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

int world_queue_init(struct world_queue *q, size_t spare)
{
	*q = (struct world_queue){ .room = 256 + 2 * spare, .spare = spare };
	q->heap = malloc(q->room * sizeof(*q->heap));
	return q->heap ? 0 : -ENOMEM;
}

void world_queue_free(struct world_queue *q)
{
	for (size_t i = 0; i < q->count; i++)
		free(q->heap[i].parcel);
	free(q->heap);
}

/* Without memory a message may be lost, but time must go on. */
static int queue_make_room(struct world_queue *q)
{
	struct world_happening *more;

	if (q->count + q->spare < q->room)
		return 0;
	more = realloc(q->heap, 2 * q->room * sizeof(*more));
	if (!more)
		return -ENOMEM;
	q->heap = more;
	q->room *= 2;
	return 0;
}

int world_queue_add(struct world_queue *q, struct world_happening h)
{
	int err = queue_make_room(q);
	size_t i = q->count;

	if (err && (h.type != WORLD_TICK || i == q->room)) {
		free(h.parcel);
		return err;
	}
	h.order = q->order++;
	q->count++;
	for (; i && queue_is_sooner(&h, &q->heap[(i - 1) / 2]); i = (i - 1) / 2)
		q->heap[i] = q->heap[(i - 1) / 2];
	q->heap[i] = h;
	return err;
}

bool world_queue_due(const struct world_queue *q, uint64_t until)
{
	return q->count && q->heap[0].at <= until;
}

struct world_happening world_queue_take(struct world_queue *q)
{
	struct world_happening first = q->heap[0], last = q->heap[--q->count];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < q->count) {
		if (child + 1 < q->count && queue_is_sooner(&q->heap[child + 1], &q->heap[child]))
			child++;
		if (!queue_is_sooner(&q->heap[child], &last))
			break;
		q->heap[i] = q->heap[child];
		i = child;
	}
	q->heap[i] = last;
	return first;
}
