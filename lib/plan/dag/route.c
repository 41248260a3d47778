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

/* From one processor where all links are alike: breadth first, so that a node's label is final when
 * its turn comes. */
static void ways_alike(const struct dag_machine *m, uint32_t from, struct search *s,
		       struct dag_routes row)
{
	uint32_t *hops = s->place, *queue = s->heap, count = 1;

	for (uint32_t i = 0; i < m->nodes; i++) {
		hops[i] = UINT32_MAX;
		s->label[i].relays = UINT32_MAX;
		row.startup[i] = row.per_unit[i] = 0;
		row.last[i] = DAG_NO_NODE;
	}
	hops[from] = s->label[from].relays = 0;
	queue[0] = from;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t node = queue[i], next = hops[node] + 1;

		for (uint32_t l = m->link_at[node]; l < m->link_at[node + 1]; l++) {
			uint32_t to = m->links[l].to;
			uint32_t relays = s->label[node].relays + (to >= m->processors ? to : 0);

			if (hops[to] < next || relays >= s->label[to].relays)
				continue;
			if (hops[to] == UINT32_MAX)
				queue[count++] = to;
			hops[to] = next;
			s->label[to].relays = relays;
			row.startup[to] = next * m->link_startup;
			row.per_unit[to] = next / m->rate;
			row.last[to] = node;
		}
	}
}

/* Dijkstra from one processor, for messages of `data` units. */
static void ways_from(const struct dag_machine *m, uint32_t from, double data, struct search *s,
		      struct dag_routes row)
{
	for (uint32_t i = 0; i < m->nodes; i++) {
		s->label[i] = (struct label){ DBL_MAX, UINT32_MAX, UINT32_MAX };
		s->place[i] = DAG_NO_NODE;
		row.startup[i] = row.per_unit[i] = 0;
		row.last[i] = DAG_NO_NODE;
	}
	s->label[from] = (struct label){ 0 };
	s->count = 1;
	put(s, 0, from);
	while (s->count) {
		uint32_t node = take(s);

		for (uint32_t l = m->link_at[node]; l < m->link_at[node + 1]; l++) {
			const struct dag_link *link = &m->links[l];
			struct label label = s->label[node];

			label.cost += data / link->rate + link->startup;
			label.hops++;
			label.relays += link->to >= m->processors ? link->to : 0;
			if (!before(&label, &s->label[link->to]))
				continue;
			s->label[link->to] = label;
			row.startup[link->to] = row.startup[node] + link->startup;
			row.per_unit[link->to] = row.per_unit[node] + 1 / link->rate;
			row.last[link->to] = node;
			if (s->place[link->to] == DAG_NO_NODE)
				put(s, s->count++, link->to);
			rise(s, s->place[link->to]);
		}
	}
}

static struct dag_routes row_of(const struct dag_machine *m, unsigned int table, uint32_t from)
{
	size_t at = ((size_t)table * m->processors + from) * m->nodes;

	return (struct dag_routes){ m->routes.startup + at, m->routes.per_unit + at,
				    m->routes.last + at };
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
	m->routes.startup = malloc(table * m->tables * sizeof(*m->routes.startup));
	m->routes.per_unit = malloc(table * m->tables * sizeof(*m->routes.per_unit));
	m->routes.last = malloc(table * m->tables * sizeof(*m->routes.last));
	s.label = malloc(m->nodes * sizeof(*s.label));
	s.heap = malloc(m->nodes * sizeof(*s.heap));
	s.place = malloc(m->nodes * sizeof(*s.place));
	if (!m->routes.startup || !m->routes.per_unit || !m->routes.last || !s.label || !s.heap ||
	    !s.place)
		goto out;
	for (uint32_t p = 0; m->uniform && p < m->processors; p++)
		ways_alike(m, p, &s, row_of(m, 0, p));
	for (unsigned int i = 0; i < m->tables && !m->uniform; i++)
		for (uint32_t p = 0; p < m->processors; p++)
			ways_from(m, p, sizes[i], &s, row_of(m, i, p));
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
	struct dag_routes row, best;
	double cost, least;
	uint32_t hops = 0;

	if (m->full) {
		out[0] = to;
		return from != to;
	}
	best = row_of(m, 0, from);
	least = best.startup[to] + data * best.per_unit[to];
	for (unsigned int i = 1; i < m->tables; i++) {
		row = row_of(m, i, from);
		cost = row.startup[to] + data * row.per_unit[to];
		if (cost < least) {
			least = cost;
			best = row;
		}
	}
	for (uint32_t node = to; node != from; node = best.last[node])
		out[hops++] = node;
	for (uint32_t i = 0; i < hops / 2; i++) {
		uint32_t node = out[i];

		out[i] = out[hops - 1 - i];
		out[hops - 1 - i] = node;
	}
	return hops;
}
