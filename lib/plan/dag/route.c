// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Routing tables: the best routes of messages that do not wait. The paper's tables choose the
 * neighbour by contention alone, which makes loops (see selftests/unit/test_dag_tables.c). Costs
 * here are positive, so there are no loops. lanes.c adds waiting.
 */
#include "machine.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

/* Of equally good routes the one with fewer hops, then with fewer relays, which avoids the higher
 * controllers of EH(n,l) as paper 4 asks. */
struct label {
	double cost;
	uint32_t hops, relays;
};

struct search {
	struct label *label;
	uint32_t *heap, *place; /* a binary heap of nodes; where in it, or DAG_NO_NODE */
	uint32_t count;
};

static bool before(const struct label *a, const struct label *b)
{
	if (a->cost != b->cost)
		return a->cost < b->cost;
	if (a->hops != b->hops)
		return a->hops < b->hops;
	return a->relays < b->relays;
}

static void put(struct search *s, uint32_t at, uint32_t node)
{
	s->heap[at] = node;
	s->place[node] = at;
}

static void rise(struct search *s, uint32_t at)
{
	uint32_t node = s->heap[at];

	for (; at && before(&s->label[node], &s->label[s->heap[(at - 1) / 2]]); at = (at - 1) / 2)
		put(s, at, s->heap[(at - 1) / 2]);
	put(s, at, node);
}

static uint32_t take(struct search *s)
{
	uint32_t first = s->heap[0], node = s->heap[--s->count], at = 0, child;

	while ((child = 2 * at + 1) < s->count) {
		if (child + 1 < s->count &&
		    before(&s->label[s->heap[child + 1]], &s->label[s->heap[child]]))
			child++;
		if (!before(&s->label[s->heap[child]], &s->label[node]))
			break;
		put(s, at, s->heap[child]);
		at = child;
	}
	if (s->count)
		put(s, at, node);
	s->place[first] = DAG_NO_NODE;
	return first;
}

/* Dijkstra from one processor, for messages of `data` units. */
static void ways_from(const struct dag_machine *m, uint32_t from, double data, struct search *s,
		      struct dag_route *row)
{
	for (uint32_t i = 0; i < m->nodes; i++) {
		s->label[i] = (struct label){ DBL_MAX, UINT32_MAX, UINT32_MAX };
		s->place[i] = DAG_NO_NODE;
		row[i] = (struct dag_route){ 0, 0, DAG_NO_NODE };
	}
	s->label[from] = (struct label){ 0 };
	s->count = 1;
	put(s, 0, from);
	while (s->count) {
		uint32_t node = take(s);

		for (uint32_t l = m->link_at[node]; l < m->link_at[node + 1]; l++) {
			const struct dag_link *link = &m->links[l];
			struct label label = s->label[node];

			/* equal costs on all links need no sum, which would only add rounding */
			label.cost += m->uniform ? 0 : data / link->rate + link->startup;
			label.hops++;
			label.relays += link->to >= m->processors ? link->to : 0;
			if (!before(&label, &s->label[link->to]))
				continue;
			s->label[link->to] = label;
			row[link->to] =
				(struct dag_route){ row[node].startup + link->startup,
						    row[node].per_unit + 1 / link->rate, node };
			if (s->place[link->to] == DAG_NO_NODE)
				put(s, s->count++, link->to);
			rise(s, s->place[link->to]);
		}
	}
}

int dag_machine_route(struct dag_machine *m, double smallest, double mean, double largest,
		      struct plan_refusal *refusal)
{
	double sizes[3] = { mean, smallest, largest };
	size_t table = (size_t)m->processors * m->nodes;
	struct search s = { 0 };
	int err = -ENOMEM;

	if (m->full)
		return 0;
	m->tables = m->uniform || smallest == largest ? 1 : 3;
	if (table * m->tables > DAG_ROUTES_MAX)
		return plan_refuse(refusal, 0, NULL,
				   "%u processors and %u nodes are too many for routes between all "
				   "of them; a full topology needs none",
				   m->processors, m->nodes);
	m->routes = malloc(table * m->tables * sizeof(*m->routes));
	s.label = malloc(m->nodes * sizeof(*s.label));
	s.heap = malloc(m->nodes * sizeof(*s.heap));
	s.place = malloc(m->nodes * sizeof(*s.place));
	if (!m->routes || !s.label || !s.heap || !s.place)
		goto out;
	for (unsigned int i = 0; i < m->tables; i++)
		for (uint32_t p = 0; p < m->processors; p++)
			ways_from(m, p, sizes[i], &s, m->routes + i * table + (size_t)p * m->nodes);
	err = 0;
out:
	free(s.label);
	free(s.heap);
	free(s.place);
	return err;
}

uint32_t dag_machine_way(const struct dag_machine *m, uint32_t from, uint32_t to, double data,
			 uint32_t *out)
{
	const struct dag_route *row, *best;
	double cost, least;
	uint32_t hops = 0;

	if (m->full) {
		out[0] = to;
		return from != to;
	}
	best = m->routes + (size_t)from * m->nodes;
	least = best[to].startup + data * best[to].per_unit;
	for (unsigned int i = 1; i < m->tables; i++) {
		row = m->routes + ((size_t)i * m->processors + from) * m->nodes;
		cost = row[to].startup + data * row[to].per_unit;
		if (cost < least) {
			least = cost;
			best = row;
		}
	}
	for (uint32_t node = to; node != from; node = best[node].last)
		out[hops++] = node;
	for (uint32_t i = 0; i < hops / 2; i++) {
		uint32_t node = out[i];

		out[i] = out[hops - 1 - i];
		out[hops - 1 - i] = node;
	}
	return hops;
}
