// SPDX-License-Identifier: GPL-2.0-or-later
/* A slot that has nothing to do takes what waits for its turn on another host. */
#include <math.h>

#include "dag_run.h"

/* When a slot of the host is free. */
static double free_at(const struct dag_run *run, uint32_t host, double now)
{
	double at = INFINITY;

	for (uint32_t s = 0; s < run->nslots; s++) {
		uint32_t task = run->slots[s].task;

		if (run->slots[s].host != host)
			continue;
		if (task == DAG_RUN_NOWHERE)
			return now;
		at = fmin(at, run->tasks[task].start + run->tasks[task].expected);
	}
	return fmax(at, now);
}

/* The task that starts there when a slot is free. */
static uint32_t next_of(const struct dag_run *run, uint32_t host)
{
	for (uint32_t i = run->head[host]; i < run->queued[host]; i++) {
		uint32_t task = run->queue[host][i];

		if (run->tasks[task].state != DAG_WAITS)
			continue;
		if (dag_run_may_start(run, task))
			return task;
		if (run->strict)
			break;
	}
	return DAG_RUN_NOWHERE;
}

static double way(const struct cluster_host *h, double data)
{
	return h->self ? 0 : h->round_trip / 2 + data / fmax(h->rate, 1);
}

static double moves(const struct dag_run *run, const struct dag_arc *arc, uint32_t host)
{
	uint32_t other = run->slots[run->tasks[arc->task].slot].host;

	if (other == host || !(arc->data > 0))
		return 0;
	return way(&run->cluster.hosts[other], arc->data) +
	       way(&run->cluster.hosts[host], arc->data);
}

/* Seconds that it takes there, and its data from where they are and to where they are awaited. */
static double takes(const struct dag_run *run, uint32_t task, uint32_t host)
{
	const struct dag_graph *g = run->work.graph;
	double seconds = dag_again_expect(run, task, host);

	for (uint32_t i = g->in_at[task]; i < g->in_at[task + 1]; i++)
		seconds += moves(run, &g->in[i], host);
	for (uint32_t i = g->out_at[task]; i < g->out_at[task + 1]; i++)
		seconds += moves(run, &g->out[i], host);
	return seconds;
}

/* The least that must pass before a task may start, if there were slots enough. */
static void look_ahead(struct dag_run *run, double now)
{
	const struct dag_graph *g = run->work.graph;

	for (uint32_t t = 0; t < g->tasks; t++) {
		run->tasks[t].soonest = now;
		for (uint32_t i = g->in_at[t]; i < g->in_at[t + 1]; i++) {
			const struct dag_task *p = &run->tasks[g->in[i].task];
			double begins = p->state == DAG_RUNS ? p->start : p->soonest;

			if (p->state == DAG_RUNS || p->state == DAG_WAITS)
				run->tasks[t].soonest =
					fmax(run->tasks[t].soonest, begins + p->expected);
		}
	}
}

/* Whether one slot can be without the host's own tasks until then. */
static bool has_time(struct dag_run *run, uint32_t host, double now, double until)
{
	uint32_t spare = 0, wanted = 0;
	double soonest = 0;

	look_ahead(run, now);
	for (uint32_t s = 0; s < run->nslots; s++)
		spare += run->slots[s].host == host && run->slots[s].task == DAG_RUN_NOWHERE;
	for (uint32_t i = run->head[host]; i < run->queued[host] && wanted < spare; i++) {
		const struct dag_task *t = &run->tasks[run->queue[host][i]];

		if (t->state != DAG_WAITS)
			continue;
		soonest = run->strict ? fmax(soonest, t->soonest) : t->soonest;
		wanted += soonest < until;
	}
	return wanted < spare;
}

uint32_t dag_idle_task(struct dag_run *run, uint32_t host)
{
	double now = dag_run_now(run), ends = 0;
	uint32_t best = DAG_RUN_NOWHERE;

	for (uint32_t h = 0; h < run->cluster.n; h++) {
		double there = free_at(run, h, now), here;
		uint32_t task = DAG_RUN_NOWHERE;

		if (there > now && dag_again_usable(run, h))
			task = next_of(run, h);
		if (task == DAG_RUN_NOWHERE ||
		    (best != DAG_RUN_NOWHERE && run->tasks[best].turn <= run->tasks[task].turn))
			continue;
		here = now + takes(run, task, host);
		if (here >= there + dag_again_expect(run, task, h))
			continue;
		best = task;
		ends = here;
	}
	return best == DAG_RUN_NOWHERE || has_time(run, host, now, ends) ? best : DAG_RUN_NOWHERE;
}
