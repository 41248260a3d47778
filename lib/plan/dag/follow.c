// SPDX-License-Identifier: GPL-2.0-or-later
#include "follow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	double time;
	uint32_t place, task;
};

struct dag_justify {
	const struct dag_problem *p;
	uint32_t processors;
	struct entry *list;
	double *tail; /* of tasks: from the start to the end of the shifted plan */
	double *ready; /* of processors, backwards from the end */
};

void dag_justify_free(struct dag_justify *j)
{
	if (!j)
		return;
	free(j->list);
	free(j->tail);
	free(j->ready);
	free(j);
}

int dag_justify_make(const struct dag_problem *p, uint32_t processors, struct dag_justify **out)
{
	struct dag_justify *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	j->p = p;
	j->processors = processors;
	j->list = malloc(p->tasks * sizeof(*j->list));
	j->tail = malloc(p->tasks * sizeof(*j->tail));
	j->ready = malloc(processors * sizeof(*j->ready));
	if (!j->list || !j->tail || !j->ready) {
		dag_justify_free(j);
		return -ENOMEM;
	}
	*out = j;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* The latest first. Places keep the order of tasks that take no time. */
static void sort_list(struct dag_justify *j, const double *time, const uint32_t *order, bool back)
{
	uint32_t n = j->p->tasks;

	for (uint32_t i = 0; i < n; i++)
		j->list[i] = (struct entry){ time[order[i]], back ? n - 1 - i : i, order[i] };
	qsort(j->list, n, sizeof(*j->list), by_time);
}

void dag_justify(struct dag_justify *j, uint32_t *order, const double *finish)
{
	const struct dag_graph *g = j->p->graph;

	sort_list(j, finish, order, true);
	memset(j->ready, 0, j->processors * sizeof(*j->ready));
	for (uint32_t i = 0; i < j->p->tasks; i++) {
		uint32_t t = j->list[i].task, where;
		double start = 0;

		for (uint32_t a = g->out_at[t]; a < g->out_at[t + 1]; a++) {
			double end = j->tail[g->out[a].task];

			start = end > start ? end : start;
		}
		where = dag_follow(j->ready, j->processors, &start);
		j->tail[t] = j->ready[where] = start + j->p->least[t];
	}
	sort_list(j, j->tail, order, false);
	for (uint32_t i = 0; i < j->p->tasks; i++)
		order[i] = j->list[i].task;
}
