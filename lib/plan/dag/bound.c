// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lower bounds. The head of a task: those of its predecessors that are on its own processor run one
 * after the other there, and the others send their data over at least one link. The bound leaves
 * open which; for each number k the best choice is the k whose data would come last (by an exchange
 * argument). Tails are the same backwards. Load: all tasks with heads of at least r and tails of at
 * least q run between r and the end - q (the interval bound of Fernandez and Bussell).
 */
#include "bound.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#define SAMPLES 128
#define NEAR_MAX 24 /* neighbours that are tried on the task's own processor */

struct near {
	double other, own, run; /* arrival of its data from elsewhere; its head; its run time */
};

static int by_other(const void *a, const void *b)
{
	const struct near *x = a, *y = b;

	return x->other > y->other ? -1 : x->other < y->other;
}

/* The least start after the neighbours, which are sorted by_other: the first k of them are on the
 * task's own processor, in the order of their heads. */
static double start_behind(const struct near *list, uint32_t count)
{
	struct near own[NEAR_MAX];
	double best = DBL_MAX;

	for (uint32_t k = 0;; k++) {
		uint32_t at = k;
		double end = 0;

		for (uint32_t i = 0; i < k; i++)
			end = fmax(end, own[i].own) + own[i].run;
		/* with more neighbours there it would be at least this */
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
		if (count > 1)
			qsort(list, count, sizeof(*list), by_other);
		return start_behind(list, count);
	}
	/* their processors make no difference */
	for (uint32_t i = 0; i < count; i++)
		end = fmax(end, list[i].own + list[i].run);
	return end;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* A sample of the values, in ascending order. */
static uint32_t sample(const double *values, uint32_t tasks, double out[SAMPLES])
{
	uint32_t step = tasks / SAMPLES + 1, count = 0;

	for (uint32_t t = 0; t < tasks; t += step)
		out[count++] = values[t];
	qsort(out, count, sizeof(*out), by_value);
	return count;
}

/* The last sample that is not above a value; -1: all are. */
static int find_sample(const double *samples, uint32_t count, double value)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (samples[middle] <= value)
			low = middle + 1;
		else
			high = middle;
	}
	return (int)low - 1;
}

/* r + load + q, where load is that of the tasks with heads of at least r and tails of at least
 * q. */
static int bound_load(const struct dag_problem *p, struct dag_bound *b)
{
	double heads[SAMPLES], tails[SAMPLES], (*load)[SAMPLES] = calloc(SAMPLES, sizeof(*load));
	uint32_t nheads = sample(b->head, p->tasks, heads);
	uint32_t ntails = sample(b->tail, p->tasks, tails);

	if (!load)
		return -ENOMEM;
	for (uint32_t t = 0; t < p->tasks; t++) {
		int r = find_sample(heads, nheads, b->head[t]);
		int q = find_sample(tails, ntails, b->tail[t]);

		if (r >= 0 && q >= 0)
			load[r][q] += b->load[t];
	}
	/* sums from there up, in one direction and then in the other; an entry of 0 has no task */
	for (uint32_t r = 0; r < nheads; r++)
		for (uint32_t q = ntails - 1; q-- > 0;)
			load[r][q] += load[r][q + 1];
	for (uint32_t r = nheads; r-- > 0;)
		for (uint32_t q = 0; q < ntails; q++) {
			if (r + 1 < nheads)
				load[r][q] += load[r + 1][q];
			if (load[r][q] > 0)
				b->length = fmax(b->length, heads[r] + load[r][q] + tails[q]);
		}
	free(load);
	return 0;
}

/* The work that any plan of this length does in an interval, against what fits into it. */
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
	/* sums in a different order may be larger by rounding */
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
