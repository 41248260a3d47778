// SPDX-License-Identifier: GPL-2.0-or-later
#include "problem.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#define TIMES_MAX ((size_t)1 << 22)
#define WHOLE_MAX 0x1p50

void dag_problem_free(struct dag_problem *p)
{
	if (!p)
		return;
	free(p->least);
	free(p->mean);
	free(p->times);
	free(p->share);
	free(p);
}

static void weigh_links(struct dag_problem *p)
{
	const struct dag_machine *m = p->machine;
	double startup = DBL_MAX, unit = DBL_MAX, pairs;

	if (m->processors == 1)
		return;
	if (m->full) {
		p->least_startup = p->mean_startup = m->link_startup;
		p->least_unit = p->mean_unit = 1 / m->rate;
		return;
	}
	for (uint32_t a = 0; a < m->processors; a++)
		for (uint32_t b = 0; b < m->processors; b++) {
			size_t r = (size_t)a * m->nodes + b;

			if (a == b)
				continue;
			p->mean_startup += m->routes.startup[r];
			p->mean_unit += m->routes.per_unit[r];
			/* of any route, so over all tables */
			for (unsigned int i = 0; i < m->tables; i++) {
				startup = fmin(startup, m->routes.startup[r]);
				unit = fmin(unit, m->routes.per_unit[r]);
				r += (size_t)m->processors * m->nodes;
			}
		}
	pairs = (double)m->processors * (m->processors - 1);
	p->mean_startup /= pairs;
	p->mean_unit /= pairs;
	/* Tables are for three sizes; a message of any other size takes at least one link. */
	for (uint32_t l = 0; l < m->link_at[m->nodes] && m->tables > 1; l++) {
		startup = fmin(startup, m->links[l].startup);
		unit = fmin(unit, 1 / m->links[l].rate);
	}
	p->least_startup = startup;
	p->least_unit = unit;
}

/* The share of a processor in the whole work: any shares with the sum 1 make a bound. */
static int weigh_processors(struct dag_problem *p)
{
	double sum = 0;

	p->share = malloc(p->processors * sizeof(*p->share));
	if (!p->share)
		return -ENOMEM;
	for (uint32_t j = 0; j < p->processors; j++) {
		double all = 0;

		if (p->same || !p->times) {
			p->share[j] = p->machine->speed[j];
		} else {
			for (uint32_t t = 0; t < p->tasks; t++)
				all += dag_run_time(p, t, j);
			p->share[j] = all > 0 ? 1 / all : 1;
		}
		if (p->same)
			p->share[j] = 1;
		sum += p->share[j];
	}
	for (uint32_t j = 0; j < p->processors; j++)
		p->share[j] /= sum;
	return 0;
}

static bool is_whole(double value)
{
	return value == floor(value) && value < WHOLE_MAX;
}

static void find_kind(struct dag_problem *p)
{
	const struct dag_graph *g = p->graph;
	double sum = 0;

	p->silent = p->whole = true;
	for (uint32_t e = 0; e < g->edges; e++) {
		double time = p->machine->uniform
				      ? g->out[e].data / p->machine->rate + p->machine->link_startup
				      : 0.5;

		p->silent &= time == 0;
		p->whole &= is_whole(time);
		sum += time;
	}
	p->silent |= p->processors == 1;
	p->whole |= p->processors == 1;
	for (uint32_t t = 0; t < p->tasks; t++)
		for (uint32_t j = 0; j < (p->same ? 1 : p->processors) && p->whole; j++) {
			p->whole &= is_whole(dag_run_time(p, t, j));
			sum += dag_run_time(p, t, j);
		}
	p->whole &= sum < WHOLE_MAX;
}

static int make_times(struct dag_problem *p, struct plan_refusal *refusal)
{
	const struct dag_graph *g = p->graph;
	const struct dag_machine *m = p->machine;
	bool same = g->times ? m->processors == 1 : m->same;

	if (g->times && g->columns != m->processors)
		return plan_refuse(refusal, 0, "$.tasks[0].times", "%u run times for %u processors",
				   g->columns, m->processors);
	p->least = malloc(p->tasks * sizeof(*p->least));
	p->mean = malloc(p->tasks * sizeof(*p->mean));
	if (!p->least || !p->mean)
		return -ENOMEM;
	if (!same && (g->times || (size_t)p->tasks * p->processors <= TIMES_MAX)) {
		p->times = malloc((size_t)p->tasks * p->processors * sizeof(*p->times));
		if (!p->times)
			return -ENOMEM;
	}
	for (uint32_t t = 0; t < p->tasks; t++) {
		double least = DBL_MAX, sum = 0;

		for (uint32_t j = 0; j < (same ? 1 : p->processors); j++) {
			double time = g->times ? g->times[(size_t)t * g->columns + j]
					       : g->work[t] / m->speed[j] + m->startup[j];

			if (p->times)
				p->times[(size_t)t * p->processors + j] = time;
			least = fmin(least, time);
			sum += time;
		}
		p->least[t] = least;
		p->mean[t] = same ? least : sum / p->processors;
	}
	p->same = same;
	return 0;
}

int dag_problem_make(const struct dag_graph *graph, struct dag_machine *machine, bool contention,
		     struct dag_problem **out, struct plan_refusal *refusal)
{
	struct dag_problem *p = calloc(1, sizeof(*p));
	double smallest = graph->edges ? DBL_MAX : 0, largest = 0, sum = 0;
	int err = p ? 0 : -ENOMEM;

	if (err)
		return err;
	p->graph = graph;
	p->machine = machine;
	p->contention = contention;
	p->tasks = graph->tasks;
	p->processors = machine->processors;
	for (uint32_t e = 0; e < graph->edges; e++) {
		smallest = fmin(smallest, graph->out[e].data);
		largest = fmax(largest, graph->out[e].data);
		sum += graph->out[e].data;
	}
	if (contention && machine->full && machine->processors > 1024)
		err = plan_refuse(refusal, 0, NULL,
				  "%u processors are too many to watch a link for each pair of; "
				  "contention needs at most 1024 in a full topology",
				  machine->processors);
	if (!err)
		err = make_times(p, refusal);
	if (!err)
		err = dag_machine_route(machine, smallest, graph->edges ? sum / graph->edges : 0,
					largest, refusal);
	if (!err) {
		weigh_links(p);
		find_kind(p);
		err = weigh_processors(p);
	}
	if (err)
		dag_problem_free(p);
	else
		*out = p;
	return err;
}

uint32_t dag_problem_fastest(const struct dag_problem *p, double *seconds)
{
	uint32_t best = 0;

	*seconds = DBL_MAX;
	for (uint32_t j = 0; j < (p->same ? 1 : p->processors); j++) {
		double all = 0;

		for (uint32_t t = 0; t < p->tasks && all < *seconds; t++)
			all += dag_run_time(p, t, j);
		if (all < *seconds) {
			*seconds = all;
			best = j;
		}
	}
	return best;
}
