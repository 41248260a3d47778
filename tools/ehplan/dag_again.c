// SPDX-License-Identifier: GPL-2.0-or-later
/* From the live cluster to a plan, at the start and whenever it turns out to be wrong. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dag_run.h"
#include "plan/dag/check.h"
#include "plan/dag/solve.h"

#define FREE_RATE 1e15 /* inside one host */
#define UNKNOWN_SECONDS 1.0 /* of a task of which nothing is known */

struct again {
	struct dag_run *run;
	uint32_t *column; /* slots that can be used */
	uint32_t ncolumns;
	uint32_t *number; /* of each task in the draft, or DAG_RUN_NOWHERE */
	struct dag_draft draft;
	struct dag_graph *graph;
	struct dag_machine *machine;
	struct dag_problem *problem;
	struct dag_plan plan;
};

bool dag_again_usable(const struct dag_run *run, uint32_t host)
{
	return cluster_usable(&run->cluster.hosts[host]) &&
	       !(run->avoid_until[host] > dag_run_now(run));
}

double dag_again_expect(const struct dag_run *run, uint32_t task, uint32_t host)
{
	const struct cluster_host *h = &run->cluster.hosts[host];
	double known = durations_get(run->durations, run->work.key[task]);
	double said = run->work.graph->work[task];

	if (known >= 0)
		return known + h->startup;
	if (!(said > 0))
		said = UNKNOWN_SECONDS;
	return said * cluster_slowdown(h) + h->startup;
}

/* ---- the machine: each host joined to home, which has the files ---- */

static void add_link(json_t *links, const char *a, const char *b, double rate, double startup)
{
	json_array_append_new(links, json_pack("{s:s, s:s, s:f, s:f}", "a", a, "b", b, "rate", rate,
					       "startup", startup));
}

static void add_host(struct again *p, uint32_t host, json_t *relays, json_t *links)
{
	const struct cluster_host *h = &p->run->cluster.hosts[host];
	char relay[40], name[40];
	bool any = false;

	snprintf(relay, sizeof(relay), "host %u", host);
	for (uint32_t c = 0; c < p->ncolumns; c++) {
		if (p->run->slots[p->column[c]].host != host)
			continue;
		snprintf(name, sizeof(name), "slot %u", c);
		add_link(links, name, relay, FREE_RATE, 0);
		any = true;
	}
	if (!any)
		return;
	json_array_append_new(relays, json_pack("{s:s}", "id", relay));
	if (h->self)
		add_link(links, relay, "home", FREE_RATE, 0);
	else
		add_link(links, relay, "home", fmin(fmax(h->rate, 1), FREE_RATE),
			 h->round_trip / 2);
}

static int make_machine(struct again *p, struct plan_refusal *refusal)
{
	json_t *processors = json_array(), *relays = json_array(), *links = json_array(), *all;
	char name[40], *text;
	int err;

	for (uint32_t c = 0; c < p->ncolumns; c++) {
		snprintf(name, sizeof(name), "slot %u", c);
		json_array_append_new(processors, json_pack("{s:s}", "id", name));
	}
	json_array_append_new(relays, json_pack("{s:s}", "id", "home"));
	for (uint32_t h = 0; h < p->run->cluster.n; h++)
		add_host(p, h, relays, links);
	all = json_pack("{s:o, s:o, s:o}", "processors", processors, "relays", relays, "links",
			links);
	text = all ? json_dumps(all, JSON_COMPACT) : NULL;
	json_decref(all);
	err = text ? dag_machine_read(text, strlen(text), 1, 0, &p->machine, refusal) : -ENOMEM;
	free(text);
	return err;
}

/* ---- the graph: what has not ended ---- */

/* What runs on a host that takes no more has no place in the plan; nobody knows how it ends. */
static bool is_open(const struct dag_run *run, const struct dag_task *t)
{
	return t->state == DAG_WAITS ||
	       (t->state == DAG_RUNS && dag_again_usable(run, run->slots[t->slot].host));
}

/* A task that runs stays where it is: it would take `far` elsewhere. */
static void fill_row(const struct again *p, uint32_t task, double far, double *row)
{
	const struct dag_run *run = p->run;
	const struct dag_task *t = &run->tasks[task];
	double rest = t->start + t->expected - dag_run_now(run);

	for (uint32_t c = 0; c < p->ncolumns; c++)
		if (t->state == DAG_RUNS)
			row[c] = p->column[c] == t->slot ? fmax(rest, 0.001) : far;
		else
			row[c] = dag_again_expect(run, task, run->slots[p->column[c]].host);
}

static bool any_open(const struct dag_run *run)
{
	for (uint32_t t = 0; t < run->work.graph->tasks; t++)
		if (is_open(run, &run->tasks[t]))
			return true;
	return false;
}

static int add_tasks(struct again *p)
{
	const struct dag_graph *g = p->run->work.graph;
	double far = 1;
	uint32_t count = 0;

	for (uint32_t t = 0; t < g->tasks; t++) {
		int64_t number = DAG_RUN_NOWHERE;

		if (is_open(p->run, &p->run->tasks[t])) {
			number = dag_draft_task(&p->draft, dag_task_name(g, t), 0);
			if (number < 0)
				return (int)number;
			far += fmax(p->run->tasks[t].expected, 1);
			count++;
		}
		p->number[t] = (uint32_t)number;
	}
	p->draft.times = malloc(((size_t)count * p->ncolumns + 1) * sizeof(double));
	if (!p->draft.times)
		return -ENOMEM;
	p->draft.columns = p->ncolumns;
	p->draft.times_room = count;
	for (uint32_t t = 0; t < g->tasks; t++)
		if (p->number[t] != DAG_RUN_NOWHERE)
			fill_row(p, t, far, p->draft.times + (size_t)p->number[t] * p->ncolumns);
	return 0;
}

static int make_graph(struct again *p, struct plan_refusal *refusal)
{
	const struct dag_graph *g = p->run->work.graph;
	int err = add_tasks(p);

	for (uint32_t t = 0; t < g->tasks && !err; t++)
		for (uint32_t i = g->out_at[t]; i < g->out_at[t + 1] && !err; i++) {
			uint32_t to = g->out[i].task;

			if (p->number[t] != DAG_RUN_NOWHERE && p->number[to] != DAG_RUN_NOWHERE)
				err = dag_draft_edge(&p->draft, p->number[t], p->number[to],
						     g->out[i].data, t);
		}
	if (!err)
		err = dag_graph_make(&p->draft, &p->graph, refusal);
	return err;
}

/* ---- the plan ---- */

static void choose_columns(struct again *p)
{
	const struct dag_run *run = p->run;

	for (uint32_t s = 0; s < run->nslots; s++)
		if (dag_again_usable(run, run->slots[s].host))
			p->column[p->ncolumns++] = s;
}

static int solve(struct again *p, bool first, struct plan_refusal *refusal)
{
	struct dag_options how = { .method = first ? DAG_BEST : DAG_LISTS, .seed = p->run->seed };
	struct plan_watch watch = { .now = progress_now };
	int err = dag_problem_make(p->graph, p->machine, false, &p->problem, refusal);

	if (!err)
		err = dag_solve(p->problem, &how, &watch, &p->plan);
	if (!err)
		err = dag_check(p->problem, &p->plan.schedule, &p->plan.messages, refusal);
	return err;
}

static int by_turn(const void *a, const void *b, void *ctx)
{
	const struct dag_task *tasks = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (tasks[x].turn != tasks[y].turn)
		return tasks[x].turn < tasks[y].turn ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* The waiting tasks of each host in the order of their starts. */
static void fill_queues(struct dag_run *run)
{
	for (uint32_t h = 0; h < run->cluster.n; h++)
		run->queued[h] = run->head[h] = 0;
	for (uint32_t t = 0; t < run->work.graph->tasks; t++) {
		uint32_t host = run->slots[run->tasks[t].slot].host;

		if (run->tasks[t].state == DAG_WAITS)
			run->queue[host][run->queued[host]++] = t;
	}
	for (uint32_t h = 0; h < run->cluster.n; h++)
		qsort_r(run->queue[h], run->queued[h], sizeof(uint32_t), by_turn, run->tasks);
}

static void take_plan(struct again *p, bool first)
{
	const struct dag_schedule *s = &p->plan.schedule;
	struct dag_run *run = p->run;
	uint32_t *place = malloc(p->graph->tasks * sizeof(*place));
	double now = dag_run_now(run);

	if (!place)
		return;
	for (uint32_t i = 0; i < p->graph->tasks; i++)
		place[p->graph->origin[i]] = i;
	for (uint32_t t = 0; t < run->work.graph->tasks; t++) {
		struct dag_task *task = &run->tasks[t];
		uint32_t i = p->number[t] == DAG_RUN_NOWHERE ? 0 : place[p->number[t]];

		if (task->state != DAG_WAITS)
			continue;
		task->slot = p->column[s->processor[i]];
		task->turn = now + s->start[i];
		task->expected = s->finish[i] - s->start[i];
		if (!first)
			continue;
		task->first_slot = task->slot;
		task->predicted_start = s->start[i];
		task->predicted_finish = s->finish[i];
	}
	free(place);
	fill_queues(run);
}

static int note_again(struct dag_run *run, const char *why, double makespan)
{
	struct dag_again *more = reallocarray(run->again, run->nagain + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	run->again = more;
	more[run->nagain] = (struct dag_again){ .at = dag_run_now(run), .makespan = makespan };
	snprintf(more[run->nagain].why, sizeof(more->why), "%s", why);
	run->nagain++;
	return 0;
}

static int made(struct again *p, const char *why)
{
	struct dag_run *run = p->run;

	take_plan(p, !why);
	if (why)
		return note_again(run, why, dag_run_now(run) + p->plan.schedule.makespan);
	run->predicted = p->plan.schedule.makespan;
	run->lower_bound = p->plan.lower_bound;
	return 0;
}

int dag_again_plan(struct dag_run *run, const char *why)
{
	struct again p = { .run = run };
	struct plan_refusal refusal = { 0 };
	double began = progress_now();
	int err = dag_draft_begin(&p.draft);

	p.column = calloc(run->nslots, sizeof(*p.column));
	p.number = calloc(run->work.graph->tasks, sizeof(*p.number));
	if (!p.column || !p.number)
		err = -ENOMEM;
	/* All that is left runs on hosts that take no more: what fails there waits, and is planned
	 * then. */
	if (!err && why && !any_open(run))
		goto out;
	if (!err)
		choose_columns(&p);
	if (!err && !p.ncolumns) {
		err = -EAGAIN;
		goto out;
	}
	if (!err)
		err = make_machine(&p, &refusal);
	if (!err)
		err = make_graph(&p, &refusal);
	if (!err)
		err = solve(&p, !why, &refusal);
	if (!err)
		err = made(&p, why);
	if (err)
		err = fail(EXIT_REFUSED, "no plan: %s",
			   err == -EINVAL ? refusal.what : strerror(-err));
	if (!why)
		run->seconds_to_plan = progress_now() - began;
out:
	dag_plan_end(&p.plan);
	if (p.problem)
		dag_problem_free(p.problem);
	if (p.machine)
		dag_machine_free(p.machine);
	if (p.graph)
		dag_graph_free(p.graph);
	dag_draft_end(&p.draft);
	free(p.column);
	free(p.number);
	return err;
}
