// SPDX-License-Identifier: GPL-2.0-or-later
#include "graph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int dag_draft_begin(struct dag_draft *draft)
{
	*draft = (struct dag_draft){ .names = plan_names_new() };
	return draft->names ? 0 : -ENOMEM;
}

void dag_draft_end(struct dag_draft *draft)
{
	plan_names_free(draft->names);
	free(draft->work);
	free(draft->times);
	free(draft->edges);
}

int64_t dag_draft_task(struct dag_draft *draft, const char *name, double work)
{
	uint32_t count = plan_names_count(draft->names);
	double *more;
	int64_t number;

	more = plan_grow(draft->work, sizeof(*more), count, &draft->work_room);
	if (!more)
		return -ENOMEM;
	draft->work = more;
	if (count >= DAG_TASKS_MAX)
		return -E2BIG;
	number = plan_names_add(draft->names, name);
	if (number >= 0)
		draft->work[number] = work;
	return number;
}

int dag_draft_edge(struct dag_draft *draft, uint32_t from, uint32_t to, double data, uint32_t place)
{
	struct dag_edge *more;

	if (draft->nedges >= DAG_EDGES_MAX)
		return -E2BIG;
	more = plan_grow(draft->edges, sizeof(*more), draft->nedges, &draft->edges_room);
	if (!more)
		return -ENOMEM;
	draft->edges = more;
	draft->edges[draft->nedges++] = (struct dag_edge){ from, to, place, data };
	return 0;
}

static int by_ends(const void *a, const void *b)
{
	const struct dag_edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

void dag_draft_unite(struct dag_draft *draft)
{
	uint32_t kept = 0;

	if (draft->nedges)
		qsort(draft->edges, draft->nedges, sizeof(*draft->edges), by_ends);
	for (uint32_t i = 0; i < draft->nedges; i++)
		if (!kept || draft->edges[i].from != draft->edges[kept - 1].from ||
		    draft->edges[i].to != draft->edges[kept - 1].to)
			draft->edges[kept++] = draft->edges[i];
	draft->nedges = kept;
}

void dag_graph_free(struct dag_graph *graph)
{
	if (!graph)
		return;
	plan_names_free(graph->names);
	free(graph->work);
	free(graph->times);
	free(graph->in_at);
	free(graph->out_at);
	free(graph->in);
	free(graph->out);
	free(graph->origin);
	free(graph);
}

static int refuse_edge(const struct dag_draft *draft, uint32_t place, struct plan_refusal *refusal,
		       const char *what)
{
	char where[128];

	if (!draft->pattern)
		return plan_refuse(refusal, place, NULL, "%s", what);
	snprintf(where, sizeof(where), draft->pattern, place);
	return plan_refuse(refusal, 0, where, "%s", what);
}

/* Tasks that are left when all others are ordered lie on cycles or behind them: going backwards
 * from one to another that is left ends in a cycle. */
static int refuse_cycle(const struct dag_draft *draft, const uint32_t *left, uint32_t tasks,
			struct plan_refusal *refusal)
{
	uint32_t *before = malloc(tasks * sizeof(*before)), *edge = malloc(tasks * sizeof(*edge));
	char what[256] = "";
	size_t at = 0;
	uint32_t t, start;

	if (!before || !edge) {
		free(before);
		free(edge);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < draft->nedges; i++) {
		const struct dag_edge *e = &draft->edges[i];

		if (left[e->from] && left[e->to]) {
			before[e->to] = e->from;
			edge[e->to] = i;
		}
	}
	for (t = 0; !left[t]; t++)
		;
	for (uint32_t i = 0; i < tasks; i++)
		t = before[t];
	start = t;
	do {
		t = before[t];
		at += snprintf(what + at, sizeof(what) - at, "%.40s <- ",
			       plan_names_text(draft->names, t));
	} while (t != start && at < 150);
	snprintf(what + at, sizeof(what) - at, "%s: a cycle, so none of them can be first",
		 t == start ? plan_names_text(draft->names, before[t]) : "...");
	t = edge[start];
	free(before);
	free(edge);
	return refuse_edge(draft, draft->edges[t].place, refusal, what);
}

/* Kahn's algorithm; of several tasks that could be next, the first that became free. `number` gets
 * the place of each task of the draft. */
static int sort_tasks(const struct dag_draft *draft, uint32_t tasks, uint32_t *origin,
		      uint32_t *number, struct plan_refusal *refusal)
{
	uint32_t *at = calloc(tasks + 1, sizeof(*at)), *left = calloc(tasks, sizeof(*left));
	uint32_t *to = malloc((draft->nedges + 1) * sizeof(*to)), done = 0, ready = 0;
	int err = -ENOMEM;

	if (!at || !left || !to)
		goto out;
	for (uint32_t i = 0; i < draft->nedges; i++) {
		at[draft->edges[i].from]++;
		left[draft->edges[i].to]++;
	}
	for (uint32_t t = 0, sum = 0; t <= tasks; t++) {
		sum += at[t];
		at[t] = sum; /* the end, counted down to the beginning below */
	}
	for (uint32_t i = draft->nedges; i-- > 0;)
		to[--at[draft->edges[i].from]] = draft->edges[i].to;
	for (uint32_t t = 0; t < tasks; t++)
		if (!left[t])
			origin[ready++] = t;
	for (; done < ready; done++) {
		uint32_t t = origin[done];

		number[t] = done;
		for (uint32_t i = at[t]; i < at[t + 1]; i++)
			if (!--left[to[i]])
				origin[ready++] = to[i];
	}
	err = done < tasks ? refuse_cycle(draft, left, tasks, refusal) : 0;
out:
	free(at);
	free(left);
	free(to);
	return err;
}

/* A stable sort of edge numbers by one end. `at` (out) has the first edge of each task. */
static void sort_edges(const struct dag_draft *draft, const uint32_t *number, bool by_to,
		       uint32_t tasks, const uint32_t *order, uint32_t *out, uint32_t *at)
{
	memset(at, 0, (tasks + 1) * sizeof(*at));
	for (uint32_t i = 0; i < draft->nedges; i++)
		at[number[by_to ? draft->edges[i].to : draft->edges[i].from]]++;
	for (uint32_t t = 0, sum = 0; t <= tasks; t++) {
		sum += at[t];
		at[t] = sum;
	}
	for (uint32_t i = draft->nedges; i-- > 0;) {
		uint32_t e = order ? order[i] : i;

		out[--at[number[by_to ? draft->edges[e].to : draft->edges[e].from]]] = e;
	}
}

static int make_arcs(struct dag_draft *draft, struct dag_graph *g, const uint32_t *number,
		     struct plan_refusal *refusal)
{
	uint32_t edges = g->edges, *order = malloc((edges + 1) * sizeof(*order));
	uint32_t *final = malloc((edges + 1) * sizeof(*final));
	int err = -ENOMEM;

	if (!order || !final)
		goto out;
	sort_edges(draft, number, true, g->tasks, NULL, order, g->in_at);
	sort_edges(draft, number, false, g->tasks, order, final, g->out_at);
	for (uint32_t i = 0; i < edges; i++) {
		const struct dag_edge *e = &draft->edges[final[i]];
		const struct dag_edge *last = i ? &draft->edges[final[i - 1]] : NULL;

		if (last && last->from == e->from && last->to == e->to) {
			char what[200];

			snprintf(what, sizeof(what), "the edge from %.60s to %.60s is listed twice",
				 plan_names_text(draft->names, e->from),
				 plan_names_text(draft->names, e->to));
			err = refuse_edge(draft, e->place > last->place ? e->place : last->place,
					  refusal, what);
			goto out;
		}
		g->out[i] = (struct dag_arc){ number[e->to], i, e->data };
	}
	/* edges are taken in the order of `from`, so predecessors are in ascending order */
	for (uint32_t from = 0, i = 0; from < g->tasks; from++)
		for (; i < g->out_at[from + 1]; i++)
			/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.ArraySubscript): out has out_at[tasks] arcs */
			g->in[g->in_at[g->out[i].task]++] =
				(struct dag_arc){ from, i, g->out[i].data };
	memmove(g->in_at + 1, g->in_at, g->tasks * sizeof(*g->in_at));
	g->in_at[0] = 0;
	err = 0;
out:
	free(order);
	free(final);
	return err;
}

int dag_graph_make(struct dag_draft *draft, struct dag_graph **out, struct plan_refusal *refusal)
{
	uint32_t tasks = plan_names_count(draft->names), edges = draft->nedges;
	struct dag_graph *g = calloc(1, sizeof(*g));
	uint32_t *number = malloc((tasks + 1) * sizeof(*number));
	int err = -ENOMEM;

	if (!g || !number)
		goto failed;
	if (!tasks) {
		err = plan_refuse(refusal, 0, NULL, "there are no tasks to plan");
		goto failed;
	}
	g->tasks = tasks;
	g->edges = edges;
	g->columns = draft->columns;
	g->work = malloc(tasks * sizeof(*g->work));
	g->origin = malloc(tasks * sizeof(*g->origin));
	g->in_at = calloc(tasks + 1, sizeof(*g->in_at));
	g->out_at = calloc(tasks + 1, sizeof(*g->out_at));
	g->in = malloc((edges + 1) * sizeof(*g->in));
	g->out = malloc((edges + 1) * sizeof(*g->out));
	if (draft->times)
		g->times = malloc((size_t)tasks * g->columns * sizeof(*g->times));
	if (!g->work || !g->origin || !g->in_at || !g->out_at || !g->in || !g->out ||
	    (draft->times && !g->times))
		goto failed;
	err = sort_tasks(draft, tasks, g->origin, number, refusal);
	if (!err)
		err = make_arcs(draft, g, number, refusal);
	if (err)
		goto failed;
	for (uint32_t t = 0; t < tasks; t++) {
		g->work[t] = draft->work[g->origin[t]];
		if (g->times)
			memcpy(g->times + (size_t)t * g->columns,
			       draft->times + (size_t)g->origin[t] * g->columns,
			       g->columns * sizeof(*g->times));
	}
	g->names = draft->names;
	draft->names = NULL;
	free(number);
	*out = g;
	return 0;

failed:
	free(number);
	dag_graph_free(g);
	return err;
}
