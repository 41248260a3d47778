// SPDX-License-Identifier: GPL-2.0-or-later
#include "order.h"

#include <errno.h>
#include <stdlib.h>

/* The longest path to the end, with the task's own time; messages count `part` of theirs. */
static void levels(const struct dag_problem *p, double part, double *out)
{
	const struct dag_graph *g = p->graph;

	for (uint32_t t = p->tasks; t-- > 0;) {
		double longest = 0;

		for (uint32_t i = g->out_at[t]; i < g->out_at[t + 1]; i++) {
			const struct dag_arc *a = &g->out[i];
			double way =
				out[a->task] + part * (p->mean_startup + a->data * p->mean_unit);

			longest = way > longest ? way : longest;
		}
		out[t] = longest + p->mean[t];
	}
}

void dag_priorities(const struct dag_problem *p, const struct dag_bound *b,
		    enum dag_priority priority, double *out)
{
	switch (priority) {
	case DAG_STATIC_LEVEL:
		levels(p, 0, out);
		break;
	case DAG_TAIL:
		for (uint32_t t = 0; t < p->tasks; t++)
			out[t] = b->tail[t] + p->least[t];
		break;
	case DAG_LATEST:
		levels(p, 0.5, out);
		break;
	case DAG_BOTH_LEVELS:
		levels(p, 1, out);
		/* the path to the end decides between tasks of one path */
		for (uint32_t t = 0; t < p->tasks; t++)
			out[t] = b->head[t] + 1.001 * out[t];
		break;
	default:
		levels(p, 1, out);
	}
}

struct entry { /* with its priority, to have it near in memory */
	double priority;
	uint32_t task;
};

struct heap {
	struct entry *entry;
	uint32_t count;
};

static bool sooner(const struct entry *a, const struct entry *b)
{
	return a->priority > b->priority || (a->priority == b->priority && a->task < b->task);
}

static void put(struct heap *h, struct entry e)
{
	uint32_t at = h->count++;

	for (; at && sooner(&e, &h->entry[(at - 1) / 2]); at = (at - 1) / 2)
		h->entry[at] = h->entry[(at - 1) / 2];
	h->entry[at] = e;
}

static uint32_t take(struct heap *h)
{
	struct entry first = h->entry[0], last = h->entry[--h->count];
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < h->count) {
		if (child + 1 < h->count && sooner(&h->entry[child + 1], &h->entry[child]))
			child++;
		if (!sooner(&h->entry[child], &last))
			break;
		h->entry[at] = h->entry[child];
		at = child;
	}
	h->entry[at] = last;
	return first.task;
}

int dag_order(const struct dag_problem *p, const double *priority, uint32_t *out)
{
	const struct dag_graph *g = p->graph;
	struct heap h = { .entry = malloc(p->tasks * sizeof(*h.entry)) };
	uint32_t *left = malloc(p->tasks * sizeof(*left)), count = 0;
	int err = h.entry && left ? 0 : -ENOMEM;

	if (err)
		goto out;
	for (uint32_t t = 0; t < p->tasks; t++) {
		left[t] = g->in_at[t + 1] - g->in_at[t];
		if (!left[t])
			put(&h, (struct entry){ priority[t], t });
	}
	while (h.count) {
		uint32_t t = take(&h);

		out[count++] = t;
		for (uint32_t i = g->out_at[t]; i < g->out_at[t + 1]; i++)
			if (!--left[g->out[i].task])
				put(&h, (struct entry){ priority[g->out[i].task], g->out[i].task });
	}
out:
	free(h.entry);
	free(left);
	return err;
}
