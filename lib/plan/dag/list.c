// SPDX-License-Identifier: GPL-2.0-or-later
#include "list.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "scan.h"

/* Of task and processor, for which all are tried. Where links are not alike it matters more which. */
#define PAIRS_MAX ((uint64_t)1 << 26)
#define ROUTED_PAIRS_MAX ((uint64_t)1 << 28)
#define PARTS 16 /* of the processors, when not all are tried */
#define STEPS_TILL_WATCH 4096

struct gap {
	double start, end;
};

struct placer {
	const struct dag_problem *p;
	struct dag_schedule *s;
	double *ready; /* of processors: the end of the last task */
	struct gap *gaps; /* processors x room, by time */
	uint32_t *ngaps, room;
	double *arrival; /* on processors, of a task's data, when links are not alike */
	double *last_end, *widest; /* of processors: the end of the last gap, the longest; or -1 */
	uint32_t *firsts; /* processors to try */
	const double *ahead;
	/* When not all are tried: a tournament for the first to be free, by speed. */
	uint32_t *tree, *leaf, leaves;
};

/* When the data of a task's predecessors arrive. If all links are equal, all other processors have
 * the same answer, because only the predecessor whose data come last can gain from being near. */
struct inputs {
	uint32_t last;
	double last_ready, ready;
};

struct choice {
	uint32_t processor;
	double start, finish, cost, idle;
};

static struct inputs gather(const struct placer *w, uint32_t task)
{
	const struct dag_graph *g = w->p->graph;
	const struct dag_machine *m = w->p->machine;
	struct inputs in = { DAG_NO_NODE, 0, 0 };
	double second = 0, near = 0;

	for (uint32_t i = g->in_at[task]; i < g->in_at[task + 1]; i++) {
		const struct dag_arc *a = &g->in[i];
		double finish = w->s->finish[a->task];
		double arrival = finish + (a->data / m->rate + m->link_startup);
		uint32_t from = w->s->processor[a->task];

		if (from == in.last) {
			near = finish > near ? finish : near;
			in.ready = arrival > in.ready ? arrival : in.ready;
		} else if (in.last == DAG_NO_NODE || arrival > in.ready) {
			second = in.ready;
			in.ready = arrival;
			in.last = from;
			near = finish;
		} else {
			second = arrival > second ? arrival : second;
		}
	}
	/* `near` may miss tasks on the last processor that were seen before it was the last: they
	 * ended before their data arrived, which is in `second` */
	in.last_ready = second > near ? second : near;
	return in;
}

static double data_ready(const struct placer *w, const struct inputs *in, uint32_t task,
			 uint32_t processor)
{
	const struct dag_graph *g = w->p->graph;
	double ready = 0;

	if (w->p->machine->full)
		return processor == in->last ? in->last_ready : in->ready;
	if (!w->tree)
		return w->arrival[processor];
	for (uint32_t i = g->in_at[task]; i < g->in_at[task + 1]; i++) {
		const struct dag_arc *a = &g->in[i];
		double arrival =
			w->s->finish[a->task] +
			dag_message_time(w->p, a->data, w->s->processor[a->task], processor);

		ready = arrival > ready ? arrival : ready;
	}
	return ready;
}

/* On all processors: by rows of the routing tables. */
static void gather_all(const struct placer *w, uint32_t task)
{
	const struct dag_graph *g = w->p->graph;
	const struct dag_machine *m = w->p->machine;

	memset(w->arrival, 0, m->processors * sizeof(*w->arrival));
	for (uint32_t i = g->in_at[task]; i < g->in_at[task + 1]; i++) {
		const struct dag_arc *a = &g->in[i];

		dag_scan_arrivals(m, w->s->processor[a->task], a->data, w->s->finish[a->task],
				  w->arrival);
	}
}

static void try(const struct placer *w, const struct inputs *in, uint32_t task, uint32_t processor,
		struct choice *best)
{
	double ready = data_ready(w, in, task, processor), free = w->ready[processor];
	double run = dag_run_time(w->p, task, processor);
	struct choice c = { processor, ready > free ? ready : free, 0, 0, 0 };

	if (free > ready) {
		const struct gap *gaps = w->gaps + (size_t)processor * w->room;

		for (uint32_t i = w->ngaps[processor]; i-- > 0 && gaps[i].end >= ready + run;) {
			double start = gaps[i].start > ready ? gaps[i].start : ready;

			if (start + run <= gaps[i].end)
				c.start = start;
		}
	} else if (w->p->same) {
		/* of equal ones the one that has been idle for the shortest time; else the first,
		 * like HEFT */
		c.idle = ready - free;
	}
	c.finish = c.cost = c.start + run;
	if (w->ahead)
		c.cost += w->ahead[(size_t)task * w->p->processors + processor];
	if (c.cost < best->cost || (c.cost == best->cost && c.idle < best->idle))
		*best = c;
}

static void update_tree(struct placer *w, uint32_t processor)
{
	if (!w->tree)
		return;
	for (uint32_t node = (w->leaves + w->leaf[processor]) / 2; node; node /= 2) {
		uint32_t a = w->tree[2 * node], b = w->tree[2 * node + 1];

		w->tree[node] = b == DAG_NO_NODE || (a != DAG_NO_NODE && w->ready[a] <= w->ready[b])
					? a
					: b;
	}
}

static void add_gap(struct placer *w, uint32_t processor, uint32_t at, double start, double end)
{
	struct gap *gaps = w->gaps + (size_t)processor * w->room;
	uint32_t count = w->ngaps[processor];

	if (start >= end)
		return;
	if (count == w->room) { /* the oldest one is the least likely to be useful */
		if (!at)
			return;
		for (uint32_t i = 1; i < at; i++)
			gaps[i - 1] = gaps[i];
		gaps[at - 1] = (struct gap){ start, end };
		return;
	}
	for (uint32_t i = count; i > at; i--)
		gaps[i] = gaps[i - 1];
	gaps[at] = (struct gap){ start, end };
	w->ngaps[processor]++;
}

static void place(struct placer *w, uint32_t task, const struct choice *c)
{
	uint32_t j = c->processor, count = w->ngaps[j], i;
	struct gap *gaps = w->gaps + (size_t)j * w->room, gap;

	w->s->processor[task] = j;
	w->s->start[task] = c->start;
	w->s->finish[task] = c->finish;
	if (c->start >= w->ready[j]) {
		add_gap(w, j, count, w->ready[j], c->start);
		w->ready[j] = c->finish;
		update_tree(w, j);
		goto out;
	}
	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): it begins in a gap, so there are some */
	for (i = count - 1; gaps[i].start > c->start; i--)
		;
	/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): the same */
	gap = gaps[i];
	for (uint32_t k = i + 1; k < count; k++)
		gaps[k - 1] = gaps[k];
	w->ngaps[j]--;
	add_gap(w, j, i, c->finish, gap.end);
	add_gap(w, j, i, gap.start, c->start);
out:
	/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): `ngaps` of them are there */
	w->last_end[j] = w->ngaps[j] ? gaps[w->ngaps[j] - 1].end : -1;
	w->widest[j] = -1;
	for (i = 0; i < w->ngaps[j]; i++)
		if (gaps[i].end - gaps[i].start > w->widest[j])
			w->widest[j] = gaps[i].end - gaps[i].start;
}

/* Like try() on all but the last, in one loop each: equal processors with equal links differ only
 * in when they are free. */
static void try_equals(const struct placer *w, const struct inputs *in, uint32_t task,
		       struct choice *best)
{
	double ready = in->ready, near = -1, early = DBL_MAX, run = w->p->least[task];
	uint32_t processors = w->p->processors, j = 0;

	for (uint32_t i = 0; i < processors; i++) {
		double free = w->ready[i];

		near = free <= ready && free > near ? free : near;
		early = free < early ? free : early;
	}
	if (near >= 0) {
		while (w->ready[j] != near)
			j++;
		try(w, in, task, j, best);
		return;
	}
	while (w->ready[j] != early)
		j++;
	try(w, in, task, j, best);
	/* none can be earlier than at `ready` */
	for (uint32_t i = 0; i < processors && best->finish > ready + run; i++)
		if (w->last_end[i] >= ready + run && w->widest[i] >= run)
			try(w, in, task, i, best);
}

/* Like try() on all, of equal processors. */
static void try_routed(const struct placer *w, uint32_t task, struct choice *best)
{
	struct inputs none = { DAG_NO_NODE, 0, 0 };
	struct dag_scan scan = { w->p->processors, w->arrival, w->ready, w->last_end, w->widest };
	uint32_t count;

	gather_all(w, task);
	count = dag_scan_firsts(&scan, w->p->least[task], w->firsts);
	for (uint32_t i = 0; i < count; i++)
		try(w, &none, task, w->firsts[i], best);
}

static void choose(const struct placer *w, uint32_t task, struct choice *best)
{
	const struct dag_graph *g = w->p->graph;
	struct inputs in = { DAG_NO_NODE, 0, 0 };
	uint32_t part;

	*best = (struct choice){ .cost = DBL_MAX, .idle = DBL_MAX };
	if (w->p->machine->full)
		in = gather(w, task);
	if (!w->tree && w->p->machine->full && w->p->same && !w->ahead) {
		if (in.last != DAG_NO_NODE)
			try(w, &in, task, in.last, best);
		try_equals(w, &in, task, best);
		return;
	}
	if (!w->tree && !w->p->machine->full && w->p->same && !w->ahead) {
		try_routed(w, task, best);
		return;
	}
	if (!w->tree) {
		if (!w->p->machine->full)
			gather_all(w, task);
		for (uint32_t j = 0; j < w->p->processors; j++)
			try(w, &in, task, j, best);
		return;
	}
	if (w->p->machine->full && in.last != DAG_NO_NODE)
		try(w, &in, task, in.last, best);
	for (uint32_t i = g->in_at[task]; !w->p->machine->full && i < g->in_at[task + 1]; i++)
		try(w, &in, task, w->s->processor[g->in[i].task], best);
	part = w->p->same && w->p->machine->full ? 1 : PARTS;
	for (uint32_t i = part; i < 2 * part; i++)
		if (w->tree[i] != DAG_NO_NODE)
			try(w, &in, task, w->tree[i], best);
}

/* Shell sort, because it needs no context. It need not be stable. */
static void sort_by_speed(const struct dag_problem *p, uint32_t *list, uint32_t count)
{
	const double *share = p->share;

	for (uint32_t gap = count / 2; gap; gap = gap == 2 ? 1 : gap * 5 / 11)
		for (uint32_t i = gap; i < count; i++) {
			uint32_t x = list[i], k = i;

			for (; k >= gap && share[list[k - gap]] < share[x]; k -= gap)
				list[k] = list[k - gap];
			list[k] = x;
		}
}

static int make_tree(struct placer *w)
{
	uint32_t processors = w->p->processors, *list = malloc(processors * sizeof(*list));

	for (w->leaves = PARTS; w->leaves < processors; w->leaves *= 2)
		;
	w->tree = malloc((size_t)2 * w->leaves * sizeof(*w->tree));
	w->leaf = malloc(processors * sizeof(*w->leaf));
	if (!list || !w->tree || !w->leaf) {
		free(list);
		return -ENOMEM;
	}
	for (uint32_t j = 0; j < processors; j++)
		list[j] = j;
	sort_by_speed(w->p, list, processors);
	for (uint32_t i = 0; i < w->leaves; i++) {
		w->tree[w->leaves + i] = i < processors ? list[i] : DAG_NO_NODE;
		if (i < processors)
			w->leaf[list[i]] = i;
	}
	for (uint32_t node = w->leaves - 1; node; node--)
		w->tree[node] = w->tree[2 * node]; /* all are free, the first has the lowest leaf */
	free(list);
	return 0;
}

/* A list jumps about in memory. What a task needs is prefetched some tasks before, each step with
 * what the step before it has loaded. */
static void prefetch(const struct placer *w, const uint32_t *order, uint32_t i)
{
	const struct dag_graph *g = w->p->graph;
	uint32_t left = w->p->tasks - i, t;

	if (left > 24) {
		t = order[i + 24];
		__builtin_prefetch(&g->in_at[t]);
		__builtin_prefetch(&w->p->least[t]);
	}
	if (left > 16) {
		t = order[i + 16];
		__builtin_prefetch(&g->in[g->in_at[t]]);
		__builtin_prefetch(&w->s->processor[t], 1);
		__builtin_prefetch(&w->s->start[t], 1);
		__builtin_prefetch(&w->s->finish[t], 1);
	}
	if (left > 8) {
		t = order[i + 8];
		for (uint32_t a = g->in_at[t]; a < g->in_at[t + 1] && a < g->in_at[t] + 4; a++) {
			__builtin_prefetch(&w->s->finish[g->in[a].task]);
			__builtin_prefetch(&w->s->processor[g->in[a].task]);
		}
	}
}

int dag_list(const struct dag_problem *p, const uint32_t *order, const double *ahead,
	     struct plan_watch *watch, struct dag_schedule *out)
{
	struct placer w = { .p = p, .s = out, .ahead = ahead };
	uint64_t pairs = p->same && !p->machine->full ? ROUTED_PAIRS_MAX : PAIRS_MAX;
	uint32_t most = p->tasks <= 20000 ? 1024 : 8;
	int err = -ENOMEM;

	w.room = (1u << 18) / p->processors;
	w.room = w.room < 4 ? 4 : w.room > most ? most : w.room;
	w.ready = calloc(p->processors, sizeof(*w.ready));
	w.arrival = calloc(p->processors, sizeof(*w.arrival));
	w.widest = malloc(p->processors * sizeof(*w.widest));
	w.firsts = malloc(p->processors * sizeof(*w.firsts));
	w.last_end = malloc(p->processors * sizeof(*w.last_end));
	w.ngaps = calloc(p->processors, sizeof(*w.ngaps));
	w.gaps = malloc((size_t)p->processors * w.room * sizeof(*w.gaps));
	if (!w.ready || !w.arrival || !w.widest || !w.firsts || !w.last_end || !w.ngaps || !w.gaps)
		goto out;
	if ((uint64_t)p->tasks * p->processors > pairs && p->processors > PARTS) {
		err = make_tree(&w);
		if (err)
			goto out;
	}
	for (uint32_t j = 0; j < p->processors; j++)
		w.last_end[j] = w.widest[j] = -1;
	err = 0;
	for (uint32_t i = 0; i < p->tasks; i++) {
		struct choice c;

		if (i % STEPS_TILL_WATCH == STEPS_TILL_WATCH - 1) {
			plan_watch_progress(watch, "placing", i, p->tasks);
			if (plan_watch_over(watch)) {
				err = -ECANCELED;
				goto out;
			}
		}
		prefetch(&w, order, i);
		choose(&w, order[i], &c);
		place(&w, order[i], &c);
	}
	dag_schedule_measure(out);
out:
	free(w.ready);
	free(w.arrival);
	free(w.widest);
	free(w.firsts);
	free(w.last_end);
	free(w.ngaps);
	free(w.gaps);
	free(w.tree);
	free(w.leaf);
	return err;
}

void dag_list_ahead(const struct dag_problem *p, double *ahead)
{
	const struct dag_graph *g = p->graph;
	uint32_t m = p->processors;

	for (uint32_t t = p->tasks; t-- > 0;) {
		double *row = ahead + (size_t)t * m;

		for (uint32_t j = 0; j < m; j++)
			row[j] = 0;
		for (uint32_t i = g->out_at[t]; i < g->out_at[t + 1]; i++) {
			const struct dag_arc *a = &g->out[i];
			const double *next = ahead + (size_t)a->task * m;
			double message = p->mean_startup + a->data * p->mean_unit, away = DBL_MAX;

			for (uint32_t k = 0; k < m; k++) {
				double cost = next[k] + dag_run_time(p, a->task, k) + message;

				away = cost < away ? cost : away;
			}
			for (uint32_t j = 0; j < m; j++) {
				double stay = next[j] + dag_run_time(p, a->task, j);
				double cost = stay < away ? stay : away;

				row[j] = cost > row[j] ? cost : row[j];
			}
		}
	}
}
