// SPDX-License-Identifier: GPL-2.0-or-later
#include "load_hold.h"

#include <errno.h>
#include <stdlib.h>

/*
 * Two queues: all, and those of each home. One that home takes stays in the queue
 * of all until its turn comes: `turn` of the task says that it has gone.
 */
struct hold_entry {
	uint32_t task, turn;
};

struct load_hold {
	struct ring ring;
	uint64_t waiting; /* of those in the ring */
	struct load_list homes[];
};

int load_hold_init(struct eh_load *load)
{
	struct load_hold *h = calloc(1, sizeof(*h) + load->size * sizeof(h->homes[0]));

	if (!h)
		return -ENOMEM;
	h->ring.each = sizeof(struct hold_entry);
	for (uint32_t i = 0; i < load->size; i++)
		h->homes[i].first = LOAD_NONE;
	load->hold = h;
	return 0;
}

void load_hold_free(struct eh_load *load)
{
	if (!load->hold)
		return;
	ring_free(&load->hold->ring);
	free(load->hold);
}

void load_hold_add(struct eh_load *load, uint32_t task)
{
	struct load_hold *h = load->hold;

	if (!ring_add(&h->ring, &(struct hold_entry){ task, load->tasks[task].turn })) {
		load->no_memory = true;
		return;
	}
	h->waiting++;
	load_list_add(load, &h->homes[load->tasks[task].home], task);
}

/* Drops those that have gone. */
static struct hold_entry *oldest(struct eh_load *load)
{
	struct load_hold *h = load->hold;

	for (struct hold_entry *e; (e = ring_first(&h->ring)); ring_drop(&h->ring))
		if (load->tasks[e->task].turn == e->turn)
			return e;
	return NULL;
}

uint32_t load_hold_take(struct eh_load *load, uint32_t home)
{
	struct load_hold *h = load->hold;
	uint32_t task;

	if (!h->waiting)
		return LOAD_NONE;
	if (home == LOAD_NONE) {
		struct hold_entry *e = oldest(load);

		if (!e)
			return LOAD_NONE;
		/* The oldest of all is the oldest of its home. */
		home = load->tasks[e->task].home;
	}
	task = load_list_take(load, &h->homes[home]);
	if (task != LOAD_NONE) {
		load->tasks[task].turn++;
		h->waiting--;
	}
	return task;
}
