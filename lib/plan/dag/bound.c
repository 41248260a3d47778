// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bounds. A task's head: of its predecessors those that are on its own processor run one after the
 * other there, the others send their data over a link at least. Which are where the bound leaves
 * open; for each number k the best choice are the k whose data would come last (an exchange shows
 * it). Tails are the same backwards. Then load: the tasks with heads of r and tails of q at least
 * run between r and the end - q, all of them (Fernandez and Bussell's interval bound).
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "bound.h"

#define NEAR_MAX 24 /* neighbours that are tried on the task's own processor */

struct near {
	double other, own, run; /* when its data come from elsewhere; its head; its run time */
};

static int by_other(const void *a, const void *b)
{
	const struct near *x = a, *y = b;

	return x->other > y->other ? -1 : x->other < y->other;
}

/* The least start behind neighbours, sorted by_other: the first k of them on the task's own
 * processor, in the order of their heads. */
static double start_behind(const struct near *list, uint32_t count)
{
	struct near own[NEAR_MAX];
	double best = DBL_MAX;

	for (uint32_t k = 0;; k++) {
		uint32_t at = k;
		double end = 0;

		for (uint32_t i = 0; i < k; i++)
			end = fmax(end, own[i].own) + own[i].run;
		/* with more neighbours there it would be this at least */
		if (k == count || k == NEAR_MAX || end >= list[k].other)
			return fmin(best, end);
		best = fmin(best, list[k].other);
		for (; at && own[at - 1].own > list[k].own; at--)
			own[at] = own[at - 1];
		own[at] = list[k];
	}
}

static double bound_side(const struct dag_problem *p, const struct dag_arc *arcs, uint32_t count,
			 const double *side, struct near *list)
{
	double end = 0;

	if (!count)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		double own = side[arcs[i].task], run = p->least[arcs[i].task];

		list[i] =
			(struct near){ own + run + p->least_startup + arcs[i].data * p->least_unit,
				       own, run };
	}
	if (!p->silent) {
		qsort(list, count, sizeof(*list), by_other);
		return start_behind(list, count);
	}
	/* where they are makes no difference */
	for (uint32_t i = 0; i < count; i++)
		end = fmax(end, list[i].own + list[i].run);
	return end;
}

struct by_tail {
	double tail, head, load;
};

static int compare_tails(const void *a, const void *b)
{
	const struct by_tail *x = a, *y = b;

	return x->tail > y->tail ? -1 : x->tail < y->tail;
}

/* r + load of those with heads and tails of r and q at least + q. */
static int bound_load(const struct dag_problem *p, struct dag_bound *b)
{
	struct by_tail *list = malloc(p->tasks * sizeof(*list));
	uint32_t step = p->tasks <= 2000 ? 1 : p->tasks / 32;

	if (!list)
		return -ENOMEM;
	for (uint32_t t = 0; t < p->tasks; t++)
		list[t] = (struct by_tail){ b->tail[t], b->head[t], b->load[t] };
	qsort(list, p->tasks, sizeof(*list), compare_tails);
	for (uint32_t i = 0; i < p->tasks; i += step) {
		double r = b->head[i], sum = 0;

		for (uint32_t k = 0; k < p->tasks; k++) {
			if (list[k].head < r)
				continue;
			sum += list[k].load;
			b->length = fmax(b->length, r + sum + list[k].tail);
		}
	}
	free(list);
	return 0;
}

/* The work that no plan of this length can keep out of an interval, against what fits in. */
static double interval_excess(const struct dag_problem *p, const struct dag_bound *b, double from,
			      double to)
{
	double work = 0;

	for (uint32_t t = 0; t < p->tasks; t++) {
		double run = p->least[t], early = b->head[t] + run - from;
		double late = to - (b->length - b->tail[t] - run);
		double inside = fmin(fmin(early, late), fmin(run, to - from));

		work += inside > 0 ? inside : 0;
	}
	return work / p->processors - (to - from);
}

static void bound_intervals(const struct dag_problem *p, struct dag_bound *b)
{
	bool raised = true;

	for (int round = 0; raised && round < 8; round++) {
		double excess = 0;

		for (uint32_t i = 0; i < p->tasks; i++)
			for (uint32_t k = 0; k < p->tasks; k++) {
				double from = b->head[i], to = b->length - b->tail[k];

				if (to > from)
					excess = fmax(excess, interval_excess(p, b, from, to));
			}
		raised = excess > 1e-9 * b->length;
		if (!raised)
			break;
		b->length += excess;
		if (p->whole)
			b->length = ceil(b->length - 1e-6);
	}
}

int dag_bound_make(const struct dag_problem *p, struct dag_bound *b)
{
	const struct dag_graph *g = p->graph;
	struct near *list = NULL;
	uint32_t most = 1;
	int err = -ENOMEM;

	*b = (struct dag_bound){ .head = malloc(p->tasks * sizeof(*b->head)),
				 .tail = malloc(p->tasks * sizeof(*b->tail)),
				 .load = malloc(p->tasks * sizeof(*b->load)) };
	for (uint32_t t = 0; t < p->tasks; t++) {
		most = g->in_at[t + 1] - g->in_at[t] > most ? g->in_at[t + 1] - g->in_at[t] : most;
		most = g->out_at[t + 1] - g->out_at[t] > most ? g->out_at[t + 1] - g->out_at[t]
							      : most;
	}
	list = malloc(most * sizeof(*list));
	if (!b->head || !b->tail || !b->load || !list)
		goto out;
	for (uint32_t t = 0; t < p->tasks; t++)
		b->head[t] = bound_side(p, g->in + g->in_at[t], g->in_at[t + 1] - g->in_at[t],
					b->head, list);
	for (uint32_t t = p->tasks; t-- > 0;) {
		b->tail[t] = bound_side(p, g->out + g->out_at[t], g->out_at[t + 1] - g->out_at[t],
					b->tail, list);
		b->path = fmax(b->path, b->head[t] + p->least[t] + b->tail[t]);
		b->load[t] = DBL_MAX;
		for (uint32_t j = 0; j < (p->same ? 1 : p->processors); j++)
			b->load[t] = fmin(b->load[t], p->share[j] * dag_run_time(p, t, j));
	}
	b->length = b->path;
	err = bound_load(p, b);
	if (!err && p->same && p->tasks <= 100)
		bound_intervals(p, b);
	/* sums in another order may be larger by roundings */
	b->length *= 1 - 1e-12;
	if (p->whole)
		b->length = ceil(b->length - 1e-6);
out:
	free(list);
	return err;
}

void dag_bound_end(struct dag_bound *b)
{
	free(b->head);
	free(b->tail);
	free(b->load);
}
