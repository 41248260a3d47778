// SPDX-License-Identifier: GPL-2.0-or-later
/* The network between members, the happenings to come, and the watcher. */
#include "world_inside.h"

void world_tell(struct eh_world *w, struct eh_world_event event)
{
	event.now = w->now;
	if (w->watch)
		w->watch(w->ctx, &event);
}

void world_plan(struct eh_world *w, uint64_t after, struct world_happening h)
{
	h.at = w->now + after;
	h.life = w->nodes[h.node].life;
	if (world_queue_add(&w->queue, h))
		w->no_memory = true;
}

bool world_is_cut(const struct eh_world *w, uint32_t a, uint32_t b)
{
	return w->side && w->side[a] != w->side[b];
}

uint64_t world_delay(struct eh_world *w)
{
	uint64_t half = w->options.delay / 2;

	return half + (half ? eh_random(&w->random) % (2 * half + 1) : 0);
}
