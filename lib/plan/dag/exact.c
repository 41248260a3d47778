// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Branch and bound. Some best plan results from taking the tasks in the order of their starts, each
 * as early as possible after what its processor has. So a partial plan is extended by tasks that
 * start no earlier than its last one, and before that time no processor is used any more. Of equal
 * empty processors one is tried, and equal tasks keep their order.
 */
#include "exact.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PLACES_MAX (1u << 22)
#define NODES_TILL_WATCH 256

struct option {
	double start, finish, bound;
	uint32_t task, processor;
};

struct exact {
	const struct dag_problem *p;
	const struct dag_bound *b;
	struct plan_watch *watch;
	struct dag_schedule *best;
	uint32_t *processor, *left; /* of tasks: its processor; predecessors that are not placed */
	double *start, *finish, *earliest;
	double *ready; /* of processors */
	uint32_t *count; /* tasks on each processor */
	uint32_t *twin; /* the equal task before it, or DAG_NO_NODE */
	bool *placed;
	double rest; /* load of the tasks that are not placed */
	struct option *options;
	uint32_t width;
	uint64_t nodes, most;
	double gap; /* a plan that is not shorter by this is not better */
	bool stopped;
};

static uint32_t option_width(const struct dag_problem *p)
{
	uint32_t usable = p->processors;

	if (p->same && p->machine->full && usable > p->tasks)
		usable = p->tasks;
	return usable;
}

bool dag_exact_fits(const struct dag_problem *p)
{
	return !p->contention && (uint64_t)p->tasks * p->tasks * option_width(p) <= PLACES_MAX;
}

static bool same_arcs(const struct dag_arc *arcs, const uint32_t *at, uint32_t a, uint32_t b)
{
	uint32_t count = at[a + 1] - at[a];

	if (count != at[b + 1] - at[b])
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (arcs[at[a] + i].task != arcs[at[b] + i].task ||
		    arcs[at[a] + i].data != arcs[at[b] + i].data)
			return false;
	return true;
}

static bool are_alike(const struct dag_problem *p, uint32_t a, uint32_t b)
{
	const struct dag_graph *g = p->graph;

	for (uint32_t j = 0; j < (p->same ? 1 : p->processors); j++)
		if (dag_run_time(p, a, j) != dag_run_time(p, b, j))
			return false;
	return same_arcs(g->in, g->in_at, a, b) && same_arcs(g->out, g->out_at, a, b);
}

static double start_on(const struct exact *x, uint32_t task, uint32_t processor)
{
	const struct dag_graph *g = x->p->graph;
	double start = x->ready[processor];

	for (uint32_t i = g->in_at[task]; i < g->in_at[task + 1]; i++) {
		const struct dag_arc *a = &g->in[i];
		double end = x->finish[a->task] +
			     dag_message_time(x->p, a->data, x->processor[a->task], processor);

		start = end > start ? end : start;
	}
	return start;
}

/* A bound on all completions of the partial plan. Also finds when each task can begin. */
static double bound_rest(struct exact *x, double last)
{
	const struct dag_problem *p = x->p;
	const struct dag_graph *g = p->graph;
	double load = x->rest, path = 0;

	for (uint32_t j = 0; j < p->processors; j++)
		load += p->share[j] * (x->ready[j] > last ? x->ready[j] : last);
	for (uint32_t t = 0; t < p->tasks; t++) {
		double early = x->b->head[t] > last ? x->b->head[t] : last;

		if (x->placed[t])
			continue;
		for (uint32_t i = g->in_at[t]; i < g->in_at[t + 1]; i++) {
			uint32_t before = g->in[i].task;
			double end = x->placed[before] ? x->finish[before]
						       : x->earliest[before] + p->least[before];

			early = end > early ? end : early;
		}
		x->earliest[t] = early;
		early += p->least[t] + x->b->tail[t];
		path = early > path ? early : path;
	}
	return load > path ? load : path;
}

static int by_promise(const void *a, const void *b)
{
	const struct option *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->bound != y->bound)
		return x->bound > y->bound ? -1 : 1;
	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	return x->processor < y->processor ? -1 : x->processor > y->processor;
}

/* The ways to extend the partial plan; none if a ready task ends too late on all processors. */
static uint32_t find_options(struct exact *x, struct option *out, double last, double last_run,
			     uint32_t last_task)
{
	const struct dag_problem *p = x->p;
	double target = x->best->makespan - x->gap;
	uint32_t count = 0, processors = p->processors;
	bool alike = p->same && p->machine->full;

	for (uint32_t t = 0; t < p->tasks; t++) {
		double least = DBL_MAX;
		bool empty = false;

		if (x->placed[t] || x->left[t])
			continue;
		for (uint32_t j = 0; j < processors; j++) {
			struct option o = { .task = t, .processor = j };
			double run = dag_run_time(p, t, j), early;

			if (alike && !x->count[j]) {
				if (empty)
					continue;
				empty = true;
			}
			o.start = start_on(x, t, j);
			o.finish = o.start + run;
			early = o.start > last ? o.start : last;
			least = early + run < least ? early + run : least;
			/* two that start together keep the order of their numbers, unless one takes
			 * no time and may be before the other on a processor */
			if (o.start < last ||
			    (o.start == last && run > 0 && last_run > 0 && t < last_task))
				continue;
			o.bound = o.finish + x->b->tail[t];
			if (o.bound > target)
				continue;
			if (x->twin[t] != DAG_NO_NODE && !x->placed[x->twin[t]])
				continue;
			out[count++] = o;
		}
		if (least + x->b->tail[t] > target)
			return 0;
	}
	if (count > 1)
		qsort(out, count, sizeof(*out), by_promise);
	return count;
}

static void place(struct exact *x, const struct option *o, int direction)
{
	const struct dag_graph *g = x->p->graph;

	x->placed[o->task] = direction > 0;
	x->count[o->processor] += direction;
	x->rest -= direction * x->b->load[o->task];
	for (uint32_t i = g->out_at[o->task]; i < g->out_at[o->task + 1]; i++)
		x->left[g->out[i].task] -= direction;
	if (direction > 0) {
		x->processor[o->task] = o->processor;
		x->start[o->task] = o->start;
		x->finish[o->task] = x->ready[o->processor] = o->finish;
	}
}

static void record(struct exact *x, double makespan)
{
	memcpy(x->best->processor, x->processor, x->p->tasks * sizeof(*x->processor));
	memcpy(x->best->start, x->start, x->p->tasks * sizeof(*x->start));
	memcpy(x->best->finish, x->finish, x->p->tasks * sizeof(*x->finish));
	x->best->makespan = makespan;
}

static void branch(struct exact *x, uint32_t depth, const struct option *last, double makespan)
{
	struct option *options = x->options + (size_t)depth * x->width;
	uint32_t count;

	if (depth == x->p->tasks) {
		if (makespan < x->best->makespan)
			record(x, makespan);
		return;
	}
	if (++x->nodes > x->most) {
		x->stopped = true;
		return;
	}
	if (x->nodes % NODES_TILL_WATCH == 0) {
		plan_watch_progress(x->watch, "branching", x->nodes, x->most);
		x->stopped = plan_watch_over(x->watch);
	}
	if (bound_rest(x, last->start) > x->best->makespan - x->gap)
		return;
	count = find_options(x, options, last->start, last->finish - last->start, last->task);
	for (uint32_t i = 0; i < count && !x->stopped; i++) {
		const struct option *o = &options[i];
		double ready = x->ready[o->processor], rest = x->rest;

		/* the best plan may have improved meanwhile */
		if (o->bound > x->best->makespan - x->gap)
			continue;
		place(x, o, 1);
		branch(x, depth + 1, o, o->finish > makespan ? o->finish : makespan);
		place(x, o, -1);
		x->ready[o->processor] = ready;
		x->rest = rest;
		if (x->best->makespan <= x->b->length)
			/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): dag_exact() has the options still */
			return;
	}
}

static void find_twins(struct exact *x)
{
	for (uint32_t t = 0; t < x->p->tasks; t++) {
		x->twin[t] = DAG_NO_NODE;
		for (uint32_t i = t; i-- > 0 && x->twin[t] == DAG_NO_NODE;)
			if (are_alike(x->p, i, t))
				x->twin[t] = i;
	}
}

int dag_exact(const struct dag_problem *p, const struct dag_bound *b, uint64_t nodes,
	      struct plan_watch *watch, struct dag_schedule *best, bool *complete)
{
	const struct dag_graph *g = p->graph;
	struct exact x = { .p = p, .b = b, .watch = watch, .best = best, .most = nodes };
	struct option none = { .task = 0 };
	uint32_t n = p->tasks;
	int err = -ENOMEM;

	*complete = best->makespan <= b->length;
	if (*complete || !dag_exact_fits(p))
		return 0;
	x.width = n * option_width(p);
	/* whole lengths differ by at least one, others by more than rounding */
	x.gap = p->whole ? 1 - 1e-6 : 1e-9 * best->makespan;
	x.processor = malloc(n * sizeof(*x.processor));
	x.left = malloc(n * sizeof(*x.left));
	x.start = malloc(n * sizeof(*x.start));
	x.finish = malloc(n * sizeof(*x.finish));
	x.earliest = malloc(n * sizeof(*x.earliest));
	x.ready = calloc(p->processors, sizeof(*x.ready));
	x.count = calloc(p->processors, sizeof(*x.count));
	x.twin = malloc(n * sizeof(*x.twin));
	x.placed = calloc(n, sizeof(*x.placed));
	x.options = malloc((size_t)n * x.width * sizeof(*x.options));
	if (!x.processor || !x.left || !x.start || !x.finish || !x.earliest || !x.ready ||
	    !x.count || !x.twin || !x.placed || !x.options)
		goto out;
	for (uint32_t t = 0; t < n; t++) {
		x.left[t] = g->in_at[t + 1] - g->in_at[t];
		x.rest += b->load[t];
	}
	find_twins(&x);
	branch(&x, 0, &none, 0);
	*complete = !x.stopped;
	err = 0;
out:
	free(x.processor);
	free(x.left);
	free(x.start);
	free(x.finish);
	free(x.earliest);
	free(x.ready);
	free(x.count);
	free(x.twin);
	free(x.placed);
	free(x.options);
	return err;
}
