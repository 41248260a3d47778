// SPDX-License-Identifier: GPL-2.0-or-later
#include "lanes.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "scan.h"

#define ALL_TRIED_MAX ((uint64_t)1 << 22) /* pairs of task and processor */
#define FORESEEN_MAX 32 /* messages of one task whose waiting is foreseen */
#define FEW_TRIED 8 /* of those that could end a task first, when not all are tried */
#define NEAR_TRIED 16 /* and of those of its predecessors */

struct interval {
	double start, end;
};

struct lane {
	struct interval *busy; /* by time; ones that touch are one */
	uint32_t count;
	size_t room;
};

struct stay { /* of a message that is tried, not placed */
	uint32_t link, node;
	double start, end;
};

struct input {
	double ready; /* the end of the arc's first task */
	uint32_t arc;
};

struct dag_lanes {
	const struct dag_problem *p;
	struct lane *lane;
	uint32_t links;
	struct stay *tried;
	size_t ntried, tried_room;
	uint32_t *way;
	double *ready, *begin; /* of processors: the last end; when a task could begin */
	uint32_t few[FEW_TRIED + NEAR_TRIED]; /* processors to try */
	struct input *inputs; /* of a task, by when they are ready */
	/* earliest arrivals */
	double *arrival, *goal; /* at each node; at the end, if it does not wait from there on */
	uint32_t *via, *heap, *place, count;
};

void dag_lanes_free(struct dag_lanes *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; l->lane && i < l->links; i++)
		free(l->lane[i].busy);
	free(l->lane);
	free(l->tried);
	free(l->way);
	free(l->ready);
	free(l->begin);
	free(l->inputs);
	free(l->arrival);
	free(l->goal);
	free(l->via);
	free(l->heap);
	free(l->place);
	free(l);
}

int dag_lanes_make(const struct dag_problem *p, struct dag_lanes **out)
{
	struct dag_lanes *l = calloc(1, sizeof(*l));
	uint32_t nodes = p->machine->nodes, most = 1;

	if (!l)
		return -ENOMEM;
	for (uint32_t t = 0; t < p->tasks; t++)
		if (p->graph->in_at[t + 1] - p->graph->in_at[t] > most)
			most = p->graph->in_at[t + 1] - p->graph->in_at[t];
	l->p = p;
	l->links = dag_machine_links(p->machine);
	l->lane = calloc(l->links + 1, sizeof(*l->lane));
	l->way = malloc(nodes * sizeof(*l->way));
	l->ready = malloc(p->processors * sizeof(*l->ready));
	l->begin = malloc(p->processors * sizeof(*l->begin));
	l->inputs = malloc(most * sizeof(*l->inputs));
	l->arrival = malloc(nodes * sizeof(*l->arrival));
	l->goal = malloc(nodes * sizeof(*l->goal));
	l->via = malloc(nodes * sizeof(*l->via));
	l->heap = malloc(nodes * sizeof(*l->heap));
	l->place = malloc(nodes * sizeof(*l->place));
	if (!l->lane || !l->way || !l->ready || !l->begin || !l->inputs || !l->arrival ||
	    !l->goal || !l->via || !l->heap || !l->place) {
		dag_lanes_free(l);
		return -ENOMEM;
	}
	*out = l;
	return 0;
}

static void clear(struct dag_lanes *l)
{
	for (uint32_t i = 0; i < l->links; i++)
		l->lane[i].count = 0;
	memset(l->ready, 0, l->p->processors * sizeof(*l->ready));
}

/* The first interval that ends behind `time`. */
static uint32_t find(const struct lane *lane, double time)
{
	uint32_t low = 0, high = lane->count, step = 1;

	/* most messages come near the end */
	for (; high >= step && lane->busy[high - step].end > time; step *= 2)
		high -= step;
	low = high > step ? high - step : 0;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (lane->busy[middle].end > time)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* When a message that arrives at `time` can have the link for this long. A message that takes no
 * time waits for its turn too. */
static double find_gap(const struct dag_lanes *l, uint32_t link, double time, double length)
{
	const struct lane *lane = &l->lane[link];
	bool moved;

	do {
		for (uint32_t i = find(lane, time);
		     i < lane->count && lane->busy[i].start < time + length; i++)
			time = lane->busy[i].end;
		moved = false;
		for (size_t i = 0; i < l->ntried; i++) {
			const struct stay *s = &l->tried[i];

			if (s->link == link && s->start < time + length && s->end > time) {
				time = s->end;
				moved = true;
			}
		}
	} while (moved);
	return time;
}

/* An interval may be empty: then no other one begins before it and ends after it. */
static int occupy(struct lane *lane, double start, double end)
{
	uint32_t at, last;

	at = find(lane, start);
	/* neighbours that touch it become one with it */
	if (at && lane->busy[at - 1].end == start) {
		at--;
		start = lane->busy[at].start;
	}
	for (last = at; last < lane->count && lane->busy[last].start <= end; last++)
		end = lane->busy[last].end > end ? lane->busy[last].end : end;
	if (last == at) {
		struct interval *more =
			plan_grow(lane->busy, sizeof(*more), lane->count, &lane->room);

		if (!more)
			return -ENOMEM;
		lane->busy = more;
	}
	memmove(lane->busy + at + 1, lane->busy + last, (lane->count - last) * sizeof(*lane->busy));
	lane->count = lane->count - last + at + 1;
	lane->busy[at] = (struct interval){ start, end };
	return 0;
}

static double link_time(const struct dag_lanes *l, uint32_t link, double data)
{
	const struct dag_machine *m = l->p->machine;

	if (m->full)
		return data / m->rate + m->link_startup;
	return data / m->links[link].rate + m->links[link].startup;
}

static int add_stay(struct dag_lanes *l, struct stay stay)
{
	struct stay *more = plan_grow(l->tried, sizeof(*more), l->ntried, &l->tried_room);

	if (!more)
		return -ENOMEM;
	l->tried = more;
	l->tried[l->ntried++] = stay;
	return 0;
}

/* Adds the stays on the route without waiting. Returns the arrival, or -1. */
static double try_way(struct dag_lanes *l, uint32_t from, uint32_t to, double data, double time)
{
	uint32_t hops = dag_machine_way(l->p->machine, from, to, data, l->way), at = from;

	for (uint32_t i = 0; i < hops; i++) {
		uint32_t link = dag_machine_link_number(l->p->machine, at, l->way[i]);
		double length = link_time(l, link, data);
		struct stay stay = { link, l->way[i], find_gap(l, link, time, length), 0 };

		time = stay.end = stay.start + length;
		if (add_stay(l, stay))
			return -1;
		at = l->way[i];
	}
	return time;
}

static void rise(struct dag_lanes *l, uint32_t at)
{
	uint32_t node = l->heap[at];

	for (; at && l->goal[node] < l->goal[l->heap[(at - 1) / 2]]; at = (at - 1) / 2) {
		l->heap[at] = l->heap[(at - 1) / 2];
		l->place[l->heap[at]] = at;
	}
	l->heap[at] = node;
	l->place[node] = at;
}

static uint32_t take(struct dag_lanes *l)
{
	uint32_t first = l->heap[0], node = l->heap[--l->count], at = 0, child;

	while ((child = 2 * at + 1) < l->count) {
		if (child + 1 < l->count && l->goal[l->heap[child + 1]] < l->goal[l->heap[child]])
			child++;
		if (l->goal[l->heap[child]] >= l->goal[node])
			break;
		l->heap[at] = l->heap[child];
		l->place[l->heap[at]] = at;
		at = child;
	}
	l->heap[at] = node;
	l->place[node] = at;
	l->place[first] = DAG_NO_NODE;
	return first;
}

/* A* with waiting: a message that is earlier at a node is not later behind any of its links, and
 * from no node sooner at the end than one that does not wait on the best of the routes that are known
 * (links are alike in both directions).
 * Finds a route that arrives before `known`. */
static bool search_way(struct dag_lanes *l, uint32_t from, uint32_t to, double data, double time,
		       double known)
{
	const struct dag_machine *m = l->p->machine;

	for (uint32_t i = 0; i < m->nodes; i++) {
		l->arrival[i] = known;
		l->place[i] = DAG_NO_NODE;
	}
	l->arrival[from] = time;
	l->heap[0] = from;
	l->place[from] = 0;
	l->count = 1;
	while (l->count) {
		uint32_t node = take(l);

		if (node == to)
			return true;
		for (uint32_t i = m->link_at[node]; i < m->link_at[node + 1]; i++) {
			uint32_t next = m->links[i].to;
			double length = link_time(l, i, data), then, goal;

			if (l->arrival[node] + length >= l->arrival[next])
				continue;
			then = find_gap(l, i, l->arrival[node], length) + length;
			goal = then + dag_machine_transfer(m, to, next, data);
			if (then >= l->arrival[next] || goal >= known)
				continue;
			l->arrival[next] = then;
			l->goal[next] = goal;
			l->via[next] = node;
			if (l->place[next] == DAG_NO_NODE) {
				l->place[next] = l->count;
				l->heap[l->count++] = next;
			}
			rise(l, l->place[next]);
		}
	}
	return false;
}

/* The stays on the route that search_way() found. */
static int take_way(struct dag_lanes *l, uint32_t from, uint32_t to, double data)
{
	uint32_t hops = 0, at = from;
	int err = 0;

	for (uint32_t node = to; node != from; node = l->via[node])
		l->way[hops++] = node;
	while (hops-- > 0 && !err) {
		uint32_t node = l->way[hops];
		uint32_t link = dag_machine_link_number(l->p->machine, at, node);
		/* as the search found it */
		double start = find_gap(l, link, l->arrival[at], link_time(l, link, data));

		err = add_stay(l, (struct stay){ link, node, start, l->arrival[node] });
		at = node;
	}
	return err;
}

static int by_ready(const void *a, const void *b)
{
	const struct input *x = a, *y = b;

	if (x->ready != y->ready)
		return x->ready < y->ready ? -1 : 1;
	return x->arc < y->arc ? -1 : x->arc > y->arc;
}

/* The message that is ready first is sent first. */
static uint32_t sort_inputs(struct dag_lanes *l, uint32_t task, const double *finish)
{
	const struct dag_graph *g = l->p->graph;
	uint32_t first = g->in_at[task], count = g->in_at[task + 1] - first;

	for (uint32_t i = 0; i < count; i++)
		l->inputs[i] = (struct input){ finish[g->in[first + i].task], first + i };
	if (count > 1)
		qsort(l->inputs, count, sizeof(*l->inputs), by_ready);
	return count;
}

/* Keeps the stays that were tried for an arc. */
static int commit(struct dag_lanes *l, uint32_t from, uint32_t to, struct dag_messages *messages)
{
	int err = messages ? dag_messages_add(messages, from, to) : 0;

	for (size_t i = 0; i < l->ntried && !err; i++) {
		const struct stay *s = &l->tried[i];

		err = occupy(&l->lane[s->link], s->start, s->end);
		if (!err && messages)
			err = dag_messages_hop(messages, s->node, s->start, s->end);
	}
	l->ntried = 0;
	return err;
}

/* When all data of a task could be on a processor. Messages of one task wait for each other; for
 * very many messages only the placed ones do. -1: no memory. */
static double foresee(struct dag_lanes *l, uint32_t task, uint32_t processor, uint32_t inputs,
		      const struct dag_schedule *s)
{
	const struct dag_graph *g = l->p->graph;
	double ready = 0;

	for (uint32_t i = 0; i < inputs; i++) {
		const struct dag_arc *a = &g->in[l->inputs[i].arc];
		double arrival = s->finish[a->task];

		if (s->processor[a->task] != processor)
			arrival = try_way(l, s->processor[a->task], processor, a->data, arrival);
		if (arrival < 0)
			return -1;
		ready = arrival > ready ? arrival : ready;
		if (inputs > FORESEEN_MAX)
			l->ntried = 0;
	}
	l->ntried = 0;
	return ready;
}

/* When they are there, after their messages are placed. -1: no memory. */
static double send(struct dag_lanes *l, uint32_t task, uint32_t processor, uint32_t inputs,
		   const uint32_t *where, const double *finish, bool adaptive,
		   struct dag_messages *messages)
{
	const struct dag_graph *g = l->p->graph;
	double ready = 0;

	for (uint32_t i = 0; i < inputs; i++) {
		const struct dag_arc *a = &g->in[l->inputs[i].arc];
		uint32_t from = where[a->task];
		double time = finish[a->task], arrival = time;

		if (from == processor) {
			ready = arrival > ready ? arrival : ready;
			continue;
		}
		arrival = try_way(l, from, processor, a->data, time);
		if (arrival < 0)
			return -1;
		if (adaptive && !l->p->machine->full &&
		    arrival > time + dag_message_time(l->p, a->data, from, processor)) {
			size_t tried = l->ntried;

			/* its own stays are no obstacle to a different route */
			l->ntried = 0;
			if (!search_way(l, from, processor, a->data, time, arrival)) {
				l->ntried = tried;
			} else {
				arrival = l->arrival[processor];
				if (take_way(l, from, processor, a->data))
					return -1;
			}
		}
		if (commit(l, a->task, task, messages))
			return -1;
		ready = arrival > ready ? arrival : ready;
	}
	return ready;
}

double dag_lanes_decode(struct dag_lanes *l, const uint32_t *order, const uint32_t *processor,
			bool adaptive, const double *tail, double limit, double *finish,
			struct dag_messages *messages)
{
	double makespan = 0;

	clear(l);
	for (uint32_t i = 0; i < l->p->tasks; i++) {
		uint32_t t = order[i], j = processor[t], inputs = sort_inputs(l, t, finish);
		double start = send(l, t, j, inputs, processor, finish, adaptive, messages);

		if (start < 0)
			return -1;
		start = start > l->ready[j] ? start : l->ready[j];
		finish[t] = l->ready[j] = start + dag_run_time(l->p, t, j);
		if (finish[t] + (tail ? tail[t] : 0) > limit)
			return DBL_MAX;
		makespan = finish[t] > makespan ? finish[t] : makespan;
	}
	return makespan;
}

/* When each processor could begin if no message had to wait: no sooner than foresee() says. */
static void hope(struct dag_lanes *l, uint32_t task, const struct dag_schedule *s)
{
	const struct dag_graph *g = l->p->graph;
	const struct dag_machine *m = l->p->machine;

	memcpy(l->begin, l->ready, l->p->processors * sizeof(*l->begin));
	for (uint32_t i = g->in_at[task]; i < g->in_at[task + 1]; i++) {
		const struct dag_arc *a = &g->in[i];
		uint32_t from = s->processor[a->task];
		double finish = s->finish[a->task], keep = l->begin[from];

		if (m->full)
			dag_scan_raise(l->begin, m->processors,
				       finish + (a->data / m->rate + m->link_startup));
		else
			dag_scan_arrivals(m, from, a->data, finish, l->begin);
		l->begin[from] = keep > finish ? keep : finish;
	}
}

/* Puts the processors that could end a task first into l->few, and those of some of its
 * predecessors behind them. Returns their number. */
static uint32_t choose_few(struct dag_lanes *l, uint32_t task, const uint32_t *where)
{
	const struct dag_graph *g = l->p->graph;
	uint32_t count = 0;
	double least[FEW_TRIED];

	for (uint32_t j = 0; j < l->p->processors; j++) {
		double end = l->begin[j] + dag_run_time(l->p, task, j);
		uint32_t k = count;

		if (count == FEW_TRIED && end >= least[--k])
			continue;
		for (; k && least[k - 1] > end; k--) {
			least[k] = least[k - 1];
			l->few[k] = l->few[k - 1];
		}
		least[k] = end;
		l->few[k] = j;
		count += count < FEW_TRIED;
	}
	for (uint32_t i = g->in_at[task]; i < g->in_at[task + 1] && count < FEW_TRIED + NEAR_TRIED;
	     i++) {
		uint32_t j = where[g->in[i].task], k = 0;

		while (k < count && l->few[k] != j)
			k++;
		if (k == count)
			l->few[count++] = j;
	}
	return count;
}

int dag_lanes_list(struct dag_lanes *l, const uint32_t *order, struct plan_watch *watch,
		   struct dag_schedule *out)
{
	const struct dag_problem *p = l->p;
	bool all = (uint64_t)p->tasks * p->processors <= ALL_TRIED_MAX ||
		   p->processors <= 2 * FEW_TRIED;

	clear(l);
	for (uint32_t i = 0; i < p->tasks; i++) {
		uint32_t t = order[i], inputs = sort_inputs(l, t, out->finish), best = 0, count;
		double least = DBL_MAX, start;

		if (i % 256 == 255) {
			plan_watch_progress(watch, "placing", i, p->tasks);
			if (plan_watch_over(watch))
				return -ECANCELED;
		}
		hope(l, t, out);
		count = all ? p->processors : choose_few(l, t, out->processor);
		for (uint32_t k = 0; k < count; k++) {
			uint32_t j = all ? k : l->few[k];
			double run = dag_run_time(p, t, j);

			if (l->begin[j] + run >= least)
				continue;
			start = foresee(l, t, j, inputs, out);
			if (start < 0)
				return -ENOMEM;
			start = start > l->ready[j] ? start : l->ready[j];
			if (start + run < least) {
				least = start + run;
				best = j;
			}
		}
		start = send(l, t, best, inputs, out->processor, out->finish, true, NULL);
		if (start < 0)
			return -ENOMEM;
		out->processor[t] = best;
		out->start[t] = start > l->ready[best] ? start : l->ready[best];
		out->finish[t] = l->ready[best] = out->start[t] + dag_run_time(p, t, best);
	}
	memcpy(out->order, order, p->tasks * sizeof(*order));
	dag_schedule_measure(out);
	return 0;
}
