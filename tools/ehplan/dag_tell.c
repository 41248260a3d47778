// SPDX-License-Identifier: GPL-2.0-or-later
/* What was planned, and what happened. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dag_run.h"

#define NAMED_MOST 20 /* failed tasks that are named */
#define LEFT_MOST 6 /* tasks shown of those that depend on one that failed */

static const char *const states[] = { "not-run", "running", "done", "failed", "not-run" };

static const char *host_of(const struct dag_run *run, uint32_t slot)
{
	return run->cluster.hosts[run->slots[slot].host].name;
}

/* What was not run because of one failure. */
static void tell_left(const struct dag_run *run, uint32_t failed)
{
	const struct dag_graph *g = run->work.graph;
	bool *behind = calloc(g->tasks, sizeof(*behind));
	char names[400] = "";
	uint32_t count = 0;
	size_t used = 0;

	if (!behind)
		return;
	behind[failed] = true;
	/* tasks are in topological order */
	for (uint32_t t = failed + 1; t < g->tasks; t++) {
		for (uint32_t i = g->in_at[t]; i < g->in_at[t + 1] && !behind[t]; i++)
			behind[t] = behind[g->in[i].task] && run->tasks[t].state == DAG_LEFT;
		if (!behind[t])
			continue;
		if (count++ < LEFT_MOST)
			used += snprintf(names + used, sizeof(names) - used, "%s%.60s",
					 used ? ", " : "", dag_task_name(g, t));
	}
	free(behind);
	if (count > LEFT_MOST)
		fail(0, "not run because of it: %s and %u more", names, count - LEFT_MOST);
	else if (count)
		fail(0, "not run because of it: %s", names);
}

void dag_tell_failures(const struct dag_run *run)
{
	const char *again = run->build ? "the same command continues" : "--resume continues";
	uint32_t tasks = run->work.graph->tasks, named = 0;

	for (uint32_t i = 0; i < tasks && named < NAMED_MOST; i++) {
		const struct dag_task *t = &run->tasks[i];

		if (t->state != DAG_FAILED)
			continue;
		fail(0, "%s failed on %s: %s %d", dag_task_name(run->work.graph, i),
		     host_of(run, t->slot), t->code > 128 ? "signal" : "exit status",
		     t->code > 128 ? t->code - 128 : t->code);
		tell_left(run, i);
		named++;
	}
	if (run->failed > named)
		fail(0, "and %u other tasks", run->failed - named);
	if (run->stopped)
		fail(0, "%s: %u of %u tasks are done; %s", run->stopped, run->done, tasks, again);
	else if (run->failed)
		fail(0,
		     "%u of %u tasks are done, %u failed, %u that depend on them were not run; %s",
		     run->done, tasks, run->failed, run->left, again);
	if (run->build && !run->stopped && run->build->status && !run->failed)
		fail(0, "%s has failed, and says above why", run->build->ninja ? "ninja" : "make");
}

/* ---- JSON ---- */

static json_t *task_json(const struct dag_run *run, uint32_t i)
{
	const struct dag_task *t = &run->tasks[i];
	bool ran = t->finish > 0 && !t->earlier;
	json_t *real = ran ? json_pack("{s:s, s:f, s:f}", "host", host_of(run, t->slot), "start",
				       t->start, "finish", t->finish)
			   : json_null();
	json_t *predicted =
		t->earlier ? json_null()
			   : json_pack("{s:s, s:f, s:f}", "host", host_of(run, t->first_slot),
				       "start", t->predicted_start, "finish", t->predicted_finish);

	return json_pack("{s:s, s:s, s:o, s:o, s:o}", "task", dag_task_name(run->work.graph, i),
			 "state", t->earlier ? "done-earlier" : states[t->state], "code",
			 ran ? json_integer(t->code) : json_null(), "predicted", predicted, "real",
			 real);
}

static json_t *hosts_json(const struct dag_run *run)
{
	json_t *list = json_array();

	for (uint32_t h = 0; h < run->cluster.n; h++) {
		const struct cluster_host *host = &run->cluster.hosts[h];
		json_int_t tasks = 0;

		for (uint32_t t = 0; t < run->work.graph->tasks; t++)
			tasks += !run->tasks[t].earlier && run->tasks[t].state == DAG_DONE &&
				 run->slots[run->tasks[t].slot].host == h;
		json_array_append_new(list,
				      json_pack("{s:s, s:i, s:f, s:f, s:f, s:I}", "host",
						host->name, "slots", (int)host->slots, "startup",
						host->startup, "round_trip", host->round_trip,
						"rate", host->rate, "tasks", tasks));
	}
	return list;
}

int dag_tell_json(const struct dag_run *run, const char *name)
{
	json_t *tasks = json_array(), *again = json_array();

	for (uint32_t i = 0; i < run->work.graph->tasks; i++)
		json_array_append_new(tasks, task_json(run, i));
	for (uint32_t i = 0; i < run->nagain; i++)
		json_array_append_new(again, json_pack("{s:f, s:s, s:f}", "at", run->again[i].at,
						       "why", run->again[i].why, "predicted",
						       run->again[i].makespan));
	return json_print_new(
		json_pack("{s:i, s:s, s:f, s:f, s:f, s:f, s:f, s:i, s:i, s:i, s:i, s:o, s:o, s:o}",
			  "version", 1, "workflow", name, "predicted", run->predicted, "real",
			  run->real, "lower_bound", run->lower_bound, "seconds_to_plan",
			  run->seconds_to_plan, "seconds_to_probe", run->seconds_to_probe, "done",
			  (int)run->done, "earlier", (int)run->earlier, "failed", (int)run->failed,
			  "not_run", (int)(run->work.graph->tasks - run->done - run->failed),
			  "plans_again", again, "hosts", hosts_json(run), "tasks", tasks));
}

/* ---- text ---- */

int dag_tell_text(const struct dag_run *run)
{
	struct table *t = table_new("HOST", "SLOTS", "STARTUP", "TASKS", "BUSY", NULL);

	for (uint32_t h = 0; h < run->cluster.n; h++) {
		const struct cluster_host *host = &run->cluster.hosts[h];
		char slots[16], startup[24], count[16], busy[24];
		uint32_t tasks = 0;
		double time = 0;

		for (uint32_t i = 0; i < run->work.graph->tasks; i++) {
			const struct dag_task *task = &run->tasks[i];

			if (task->earlier || task->state != DAG_DONE ||
			    run->slots[task->slot].host != h)
				continue;
			tasks++;
			time += task->finish - task->start;
		}
		snprintf(slots, sizeof(slots), "%u", host->slots);
		snprintf(startup, sizeof(startup), "%.1f ms", 1000 * host->startup);
		snprintf(count, sizeof(count), "%u", tasks);
		snprintf(busy, sizeof(busy), "%.2f s", time);
		table_row(t, host->name, slots, startup, count, busy, NULL);
	}
	printf("%u task%s", run->done, run->done == 1 ? "" : "s");
	if (run->earlier)
		printf(" (%u of them in an earlier run)", run->earlier);
	if (run->build && !run->failed && run->left)
		printf(" (and %u that were not needed)", run->left);
	printf(": %.3f s; planned: %.3f s, no plan below %.3f s", run->real, run->predicted,
	       run->lower_bound);
	if (run->nagain)
		printf("; planned again %u times, last because %s", run->nagain,
		       run->again[run->nagain - 1].why);
	printf("\n\n");
	table_print(t);
	return EXIT_DONE;
}

/* ---- the diagram ---- */

enum bar_kind { PLANNED, REAL, FAILED };

int dag_tell_gantt(const struct dag_run *run, const char *path)
{
	static const char *const kinds[] = { "planned", "real", "failed", NULL };
	struct gantt gantt = { .title = "Planned, and below it the real run",
			       .unit = "seconds",
			       .nrows = 2 * run->nslots,
			       .kinds = kinds };
	struct gantt_bar *bars = calloc(2 * (size_t)run->work.graph->tasks + 1, sizeof(*bars));
	char(*names)[96] = calloc(run->nslots, sizeof(*names));
	const char **rows = calloc(2 * (size_t)run->nslots, sizeof(*rows));
	int code;

	if (!bars || !rows || !names) {
		code = fail(EXIT_REFUSED, "%s: no memory for the diagram", path);
		goto out;
	}
	for (uint32_t s = 0; s < run->nslots; s++) {
		snprintf(names[s], sizeof(*names), "%.64s %u", host_of(run, s),
			 run->slots[s].number + 1);
		rows[2 * s] = names[s];
		rows[2 * s + 1] = "real";
	}
	for (uint32_t i = 0; i < run->work.graph->tasks; i++) {
		const struct dag_task *t = &run->tasks[i];
		const char *label = dag_task_name(run->work.graph, i);

		if (t->earlier)
			continue;
		bars[gantt.nbars++] = (struct gantt_bar){ 2 * t->first_slot, t->predicted_start,
							  t->predicted_finish, label, PLANNED };
		if (t->finish > 0)
			bars[gantt.nbars++] =
				(struct gantt_bar){ 2 * t->slot + 1, t->start, t->finish, label,
						    t->state == DAG_FAILED ? FAILED : REAL };
	}
	gantt.rows = rows;
	gantt.bars = bars;
	code = gantt_draw(&gantt, path);
out:
	free(bars);
	free(names);
	free(rows);
	return code;
}
