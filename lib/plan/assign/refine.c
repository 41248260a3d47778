// SPDX-License-Identifier: GPL-2.0-or-later
/* The local search of Fiduccia and Mattheyses, from many places at once (as in KaHIP's k-way
 * search). It lowers the potential of parts.h. */
#include "refine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eh/rule.h"

/* Neighbours that are looked at after a move; a hub has too many for all of them. */
#define NEIGHBOURS 48
/* Rounds without a lower largest f, and the room of a round: this far from mean to largest f. */
#define STALE 3
#define ROOM 0.4
/* A whole search looks at this many neighbours at most, plus this many per task and neighbour. */
#define LOOKS 8000000u
#define LOOKS_EACH 10u

static int push(struct assign_parts *s, double gain, uint32_t v)
{
	struct assign_heap_entry *heap = plan_grow(s->heap, sizeof(*heap), s->nheap, &s->heap_room);
	uint32_t i = s->nheap;

	if (!heap)
		return -ENOMEM;
	s->heap = heap;
	s->nheap++;
	for (; i && heap[(i - 1) / 2].gain < gain; i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = (struct assign_heap_entry){ gain, v };
	return 0;
}

static struct assign_heap_entry pop(struct assign_parts *s)
{
	struct assign_heap_entry *heap = s->heap, top = heap[0], last = heap[--s->nheap];
	uint32_t i = 0, child;

	while ((child = 2 * i + 1) < s->nheap) {
		child += child + 1 < s->nheap && heap[child + 1].gain > heap[child].gain;
		if (heap[child].gain <= last.gain)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return top;
}

#define NOWHERE UINT32_MAX

/* The best part for v, other than its own, of those it communicates with; v stays looked at. */
static uint32_t best_part(struct assign_parts *s, uint32_t v, double *gain)
{
	uint32_t best = NOWHERE;

	assign_parts_look(s, v);
	*gain = -1e300;
	for (uint32_t i = 0; i < s->ntouched; i++) {
		uint32_t b = s->touched[i];
		double g;

		if (b == s->at[v])
			continue;
		g = assign_parts_gain(s, v, b);
		if (g > *gain) {
			*gain = g;
			best = b;
		}
	}
	return best;
}

static int offer(struct assign_parts *s, uint32_t v)
{
	double gain;
	uint32_t b = best_part(s, v, &gain);

	assign_parts_forget(s);
	return b == NOWHERE ? 0 : push(s, gain, v);
}

static int offer_neighbours(struct assign_parts *s, uint32_t v)
{
	const struct assign_problem *p = s->problem;
	uint32_t end = p->start[v + 1], offered = 0;
	int err = 0;

	for (uint32_t e = p->start[v]; e < end && !err && offered < NEIGHBOURS; e++) {
		if (s->locked[p->to[e]] == s->pass)
			continue;
		err = offer(s, p->to[e]);
		offered++;
	}
	return err;
}

/* One search; moves that did not lead to a lower potential are undone. */
static int search(struct assign_parts *s, uint32_t from, uint32_t patience)
{
	double sum = 0, best = 0, gain;
	uint32_t moves = 0, keep = 0;
	int err;

	s->nheap = 0;
	err = offer(s, from);
	while (!err && s->nheap && moves - keep < patience) {
		struct assign_heap_entry top = pop(s);
		uint32_t v = top.task, b;

		if (s->locked[v] == s->pass)
			continue;
		b = best_part(s, v, &gain);
		if (b == NOWHERE || (gain < top.gain && s->nheap && gain < s->heap[0].gain)) {
			assign_parts_forget(s);
			if (b != NOWHERE)
				err = push(s, gain, v);
			continue;
		}
		s->trail[moves] = v;
		s->trail_at[moves++] = s->at[v];
		assign_parts_move(s, v, b);
		assign_parts_forget(s);
		s->locked[v] = s->pass;
		sum += gain;
		if (sum > best * (1 + 1e-12) + 1e-9) {
			best = sum;
			keep = moves;
		}
		err = offer_neighbours(s, v);
	}
	while (moves > keep) {
		moves--;
		assign_parts_look(s, s->trail[moves]);
		assign_parts_move(s, s->trail[moves], s->trail_at[moves]);
		assign_parts_forget(s);
	}
	return err;
}

static bool at_border(const struct assign_parts *s, uint32_t v)
{
	const struct assign_problem *p = s->problem;

	for (uint32_t e = p->start[v]; e < p->start[v + 1]; e++)
		if (s->at[p->to[e]] != s->at[v])
			return true;
	return false;
}

/* Searches once from each task at a border, until `looks` neighbours have been looked at. */
static int refine_once(struct assign_parts *parts, uint32_t patience, uint64_t looks,
		       uint64_t *random, struct plan_watch *watch)
{
	uint32_t *list = parts->list, count = 0;
	int err = 0;

	parts->pass++;
	for (uint32_t v = 0; v < parts->problem->tasks; v++)
		if (at_border(parts, v))
			list[count++] = v;
	for (uint32_t i = count; i > 1; i--) {
		uint32_t j = eh_random_below(random, i), v = list[j];

		list[j] = list[i - 1];
		list[i - 1] = v;
	}
	for (uint32_t i = 0; i < count && !err && parts->looks < looks; i++) {
		if (!(i & 255) && plan_watch_over(watch))
			break;
		if (parts->locked[list[i]] != parts->pass)
			err = search(parts, list[i], patience);
	}
	if (parts->machine) /* where sums are not exact */
		assign_parts_sum(parts);
	return err;
}

int assign_refine(struct assign_parts *parts, uint32_t rounds, uint32_t patience, uint64_t *random,
		  struct plan_watch *watch)
{
	uint32_t tasks = parts->problem->tasks, stale = 0;
	uint32_t *best = malloc(tasks * sizeof(*best));
	uint64_t looks = parts->looks + LOOKS +
			 LOOKS_EACH * (tasks + (uint64_t)parts->problem->start[tasks]);
	double least = assign_parts_most(parts);
	int err = best ? 0 : -ENOMEM;

	if (err)
		return err;
	memcpy(best, parts->at, tasks * sizeof(*best));
	parts->steep = parts->mean_weight > 0 ? 1 / parts->mean_weight : 1;
	for (uint32_t i = 0; i < rounds && stale < STALE && !err; i++) {
		double mean = assign_parts_mean(parts), most = assign_parts_most(parts);

		assign_parts_limit(parts, mean + (most - mean) * ROOM);
		err = refine_once(parts, patience, looks, random, watch);
		if (plan_watch_over(watch) || parts->looks >= looks)
			rounds = 0;
		most = assign_parts_most(parts);
		stale++;
		if (most >= least)
			continue;
		stale = 0;
		least = most;
		memcpy(best, parts->at, tasks * sizeof(*best));
	}
	memcpy(parts->at, best, tasks * sizeof(*best));
	assign_parts_sum(parts);
	free(best);
	return err;
}
