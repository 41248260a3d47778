// SPDX-License-Identifier: GPL-2.0-or-later
#include "load_wait.h"

#include <errno.h>
#include <stdlib.h>

/*
 * A queue of each home, and one of all. What leaves the queue of its home stays in the other until its
 * turn comes: `turn` of the task says that it has gone.
 */
struct wait_entry {
	uint32_t task, turn;
};

int load_wait_init(struct eh_load *load)
{
	load->oldest.each = sizeof(struct wait_entry);
	load->waits = malloc(load->size * sizeof(load->waits[0]));
	if (!load->waits)
		return -ENOMEM;
	for (uint32_t i = 0; i < load->size; i++)
		load->waits[i].first = LOAD_NONE;
	return 0;
}

void load_wait_free(struct eh_load *load)
{
	ring_free(&load->oldest);
	free(load->waits);
}

void load_wait_add(struct eh_load *load, uint32_t task)
{
	const struct load_task *t = &load->tasks[task];

	if (load->options->policy == EH_LOAD_SHARED &&
	    !ring_add(&load->oldest, &(struct wait_entry){ task, t->turn })) {
		load->no_memory = true;
		return;
	}
	load_list_add(load, &load->waits[t->home], task);
}

uint32_t load_wait_take(struct eh_load *load, uint32_t home)
{
	uint32_t task = load_list_take(load, &load->waits[home]);

	if (task != LOAD_NONE)
		load->tasks[task].turn++;
	return task;
}

uint32_t load_wait_take_oldest(struct eh_load *load)
{
	const struct wait_entry *e;

	for (; (e = ring_first(&load->oldest)); ring_drop(&load->oldest))
		if (load->tasks[e->task].turn == e->turn)
			/* The oldest of all is the oldest of its home. */
			return load_wait_take(load, load->tasks[e->task].home);
	return LOAD_NONE;
}

void load_wait_drop(struct eh_load *load, uint32_t task)
{
	struct load_list *list = &load->waits[load->tasks[task].home];
	uint32_t at = list->first, before = LOAD_NONE;

	for (; at != task; at = load->tasks[at].next)
		before = at;
	if (before == LOAD_NONE)
		list->first = load->tasks[at].next;
	else
		load->tasks[before].next = load->tasks[at].next;
	if (list->last == at)
		list->last = before;
	load->tasks[task].turn++;
}
