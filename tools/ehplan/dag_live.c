// SPDX-License-Identifier: GPL-2.0-or-later
/* ehctl dag: a workflow, planned for the live cluster and run by the plan. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dag_run.h"
#include "journal.h"
#include "live.h"
#include "probe.h"

static struct settings {
	const char *journal, *gantt, *view;
	struct cluster_wish wish;
	bool resume, dry, make, ninja;
	unsigned int order;
	uint64_t seed, slots;
	double grace;
} settings = { .seed = 1, .grace = 5 };

static const struct option_row options[] = {
	{ "make", OPTION_FLAG, offsetof(struct settings, make), NULL,
	  .help = "what make would run; make's own arguments follow, behind -- if they begin with -" },
	{ "ninja", OPTION_FLAG, offsetof(struct settings, ninja), NULL,
	  .help = "the same of ninja" },
	{ "hosts", OPTION_TEXT, offsetof(struct settings, wish.only), "A,B,…",
	  .help = "use these hosts only" },
	{ "slots", OPTION_COUNT, offsetof(struct settings, slots), "N", .count = { 1, 1024 },
	  .wanted = "a number from 1 to 1024 is needed",
	  .help = "tasks at a time on each host (its free processors, at least 1)" },
	{ "order", OPTION_WORD, offsetof(struct settings, order), "plan|ready",
	  .wanted = "plan or ready is needed",
	  .help = "plan: tasks of a host start in the plan's order (default);\n"
		  "ready: one whose parents have ended need not wait for its turn" },
	{ "view", OPTION_TEXT, offsetof(struct settings, view), "shared|home|auto",
	  .wanted = "must be shared, home or auto",
	  .help = "whose files tasks see: as for `ehctl run`" },
	{ "resume", OPTION_FLAG, offsetof(struct settings, resume), NULL,
	  .help = "skip tasks that the journal lists as done" },
	{ "journal", OPTION_TEXT, offsetof(struct settings, journal), "FILE2",
	  .help = "the journal (FILE.journal)" },
	{ "grace", OPTION_REAL, offsetof(struct settings, grace), "S", .real = { 0, 86400 },
	  .wanted = "seconds from 0 to 86400 are needed",
	  .help = "seconds that a host may be down before its tasks run elsewhere (5)" },
	{ "gantt", OPTION_TEXT, offsetof(struct settings, gantt), "FILE.svg",
	  .help = "draw the plan and the real run" },
	{ "seed", OPTION_COUNT, offsetof(struct settings, seed), "S", .count = { 0, UINT64_MAX },
	  .help = "seed of the planner's random choices (1)" },
	{ "dry-run", OPTION_FLAG, offsetof(struct settings, dry), NULL,
	  .help = "probe and plan, run nothing" },
	{ 0 },
};

/* ---- what a run has ---- */

static int make_tasks(struct dag_run *run)
{
	const struct dag_graph *g = run->work.graph;

	run->tasks = calloc(g->tasks + 1, sizeof(*run->tasks));
	run->notes = mmap(NULL, (g->tasks + 1) * sizeof(*run->notes), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run->notes == MAP_FAILED)
		run->notes = NULL;
	if (!run->tasks || !run->notes)
		return fail(EXIT_REFUSED, "no memory for %u tasks", g->tasks);
	for (uint32_t t = 0; t < g->tasks; t++)
		run->tasks[t].missing = g->in_at[t + 1] - g->in_at[t];
	return 0;
}

static int make_slots(struct dag_run *run)
{
	const struct cluster *c = &run->cluster;
	uint32_t tasks = run->work.graph->tasks;

	for (uint32_t h = 0; h < c->n; h++)
		run->nslots += c->hosts[h].slots;
	run->slots = calloc(run->nslots, sizeof(*run->slots));
	run->queue = calloc(c->n, sizeof(*run->queue));
	run->queued = calloc(2 * (size_t)c->n, sizeof(*run->queued));
	run->down_since = calloc(2 * (size_t)c->n, sizeof(*run->down_since));
	if (!run->slots || !run->queue || !run->queued || !run->down_since)
		return fail(EXIT_REFUSED, "no memory for %u slots", run->nslots);
	run->head = run->queued + c->n;
	run->avoid_until = run->down_since + c->n;
	for (uint32_t h = 0, s = 0; h < c->n; h++) {
		run->queue[h] = calloc(tasks + 1, sizeof(uint32_t));
		if (!run->queue[h])
			return fail(EXIT_REFUSED, "no memory for %u tasks", tasks);
		for (uint32_t k = 0; k < c->hosts[h].slots; k++)
			run->slots[s++] = (struct dag_slot){ h, k, DAG_RUN_NOWHERE };
	}
	return 0;
}

static void end_run(struct dag_run *run)
{
	for (uint32_t h = 0; run->queue && h < run->cluster.n; h++)
		free(run->queue[h]);
	if (run->notes)
		munmap(run->notes, (run->work.graph->tasks + 1) * sizeof(*run->notes));
	free(run->queue);
	free(run->queued);
	free(run->down_since);
	free(run->slots);
	free(run->tasks);
	free(run->again);
	durations_close(run->durations);
	cluster_close(&run->cluster);
	workflow_close(&run->work);
	if (run->journal >= 0)
		close(run->journal);
}

/* ---- what an earlier run has done ---- */

struct earlier {
	const struct dag_run *run;
	uint32_t *number; /* tasks of the graph, by their names' numbers */
	uint32_t *done; /* the line of a task's last end, from 1 on; 0: it is not done */
	uint32_t lines;
};

/* The last end decides. A task whose command is another one now is run. */
static void take_earlier(void *ctx, const char *name, uint64_t key, int code)
{
	struct earlier *e = ctx;
	int64_t number = plan_names_find(e->run->work.graph->names, name);
	uint32_t task;

	e->lines++;
	if (number < 0)
		return;
	task = e->number[number];
	e->done[task] = !code && e->run->work.key[task] == key ? e->lines : 0;
}

/* A task is done only if all before it are, and were before it: it has read what they wrote then. */
static void settle_earlier(struct dag_run *run, const uint32_t *done)
{
	const struct dag_graph *g = run->work.graph;

	for (uint32_t t = 0; t < g->tasks; t++) {
		struct dag_task *task = &run->tasks[t];
		bool its = done[t];

		for (uint32_t i = g->in_at[t]; i < g->in_at[t + 1]; i++) {
			task->missing -= run->tasks[g->in[i].task].earlier;
			its = its && done[g->in[i].task] < done[t];
		}
		if (!its || task->missing)
			continue;
		task->state = DAG_DONE;
		task->earlier = true;
		run->done++;
		run->earlier++;
	}
}

/* make and ninja know by themselves what is done. */
static void leave_earlier(void *ctx, const char *name, uint64_t key, int code)
{
}

static int open_journal(struct dag_run *run, const char *file)
{
	const struct dag_graph *g = run->work.graph;
	struct earlier e = { .run = run };
	char path[4096];
	int code = 0;

	e.number = calloc(2 * (size_t)g->tasks + 1, sizeof(*e.number));
	if (!e.number)
		return fail(EXIT_REFUSED, "no memory for %u tasks", g->tasks);
	e.done = e.number + g->tasks;
	for (uint32_t t = 0; t < g->tasks; t++)
		e.number[g->origin[t]] = t;
	if (settings.journal)
		snprintf(path, sizeof(path), "%s", settings.journal);
	else if (run->build)
		snprintf(path, sizeof(path), "%s/%s.journal",
			 run->build->directory ? run->build->directory : ".", file);
	else
		snprintf(path, sizeof(path), "%s.journal", file);
	run->journal = journal_open(path, settings.resume,
				    run->build ? leave_earlier : take_earlier, &e, &code);
	if (!code)
		settle_earlier(run, e.done);
	free(e.number);
	return code;
}

/* ---- the command ---- */

static int read_file(struct dag_run *run, const char *file)
{
	const char *name;
	char *text = NULL;
	size_t length;
	int code = call_read(file, &name, &text, &length);

	if (!code)
		code = workflow_read(name, text, length, &run->work);
	free(text);
	return code;
}

static int prepare(struct dag_run *run, const char *file)
{
	int code = run->build ? build_open(run->build, &run->work) : read_file(run, file);
	double began;

	if (!code)
		code = make_tasks(run);
	if (!code)
		code = cluster_open(&run->cluster, &settings.wish);
	if (!code && !settings.dry)
		code = open_journal(run, file);
	if (code)
		return code;
	began = progress_now();
	if (run->done < run->work.graph->tasks)
		code = probe_cluster(&run->cluster, settings.view);
	run->seconds_to_probe = progress_now() - began;
	if (!code)
		code = make_slots(run);
	run->durations = code ? NULL : durations_open();
	if (!code && !run->durations)
		code = fail(EXIT_REFUSED, "no memory for what tasks took earlier");
	return code;
}

static int carry_out(struct dag_run *run)
{
	int code = 0;

	run->began = progress_now();
	if (run->done < run->work.graph->tasks)
		code = dag_again_plan(run, NULL);
	if (code == -EAGAIN)
		code = fail(EXIT_REFUSED, "no host can be used any more");
	/* planning is not part of the time that is compared with the plan */
	run->began = progress_now();
	if (code || settings.dry)
		return code;
	code = dag_run_all(run);
	dag_tell_failures(run);
	if (run->signal)
		return 128 + run->signal;
	if (run->build && run->build->status)
		return EXIT_REFUSED;
	return code ? code : run->failed || run->stopped ? EXIT_REFUSED : EXIT_DONE;
}

static int tell(const struct dag_run *run, const char *file, bool json)
{
	int code = json ? dag_tell_json(run, file) : dag_tell_text(run);
	int drawn = settings.gantt ? dag_tell_gantt(run, settings.gantt) : 0;

	return code ? code : drawn;
}

static int run_dag(void *ctx, char **rest, bool json)
{
	struct dag_run run = { .journal = -1, .quiet = json };
	struct build build = { .args = rest, .ninja = settings.ninja };
	bool is_build = settings.make || settings.ninja;
	const char *file = settings.make ? "make" : settings.ninja ? "ninja" : rest[0];
	int code, told;

	if (settings.make && settings.ninja)
		return bad_usage("--make or --ninja, not both");
	if (!is_build && (!rest[0] || rest[1]))
		return bad_usage(rest[0] ? "one file only" : "a file, --make or --ninja is needed");
	if (!strcmp(file, "-") && !settings.journal)
		return bad_usage("--journal is needed: standard input has no name");
	run.build = is_build ? &build : NULL;
	settings.wish.slots = (uint32_t)settings.slots;
	run.view = settings.view;
	run.strict = settings.order == 0 && !is_build;
	run.grace = settings.grace;
	run.seed = settings.seed;
	code = prepare(&run, file);
	if (!code) {
		code = carry_out(&run);
		told = tell(&run, file, json);
		code = code ? code : told;
	}
	end_run(&run);
	if (is_build)
		build_close(&build);
	return code;
}

const struct live_command dag_live = {
	.name = "dag",
	.arguments =
		"FILE | --make [ARG]... | --ninja [ARG]... [--hosts A,B,…] [--slots N] [--order plan|ready] [--view VIEW] [--resume]\n"
		"       [--journal FILE2] [--grace S] [--gantt FILE.svg] [--seed S] [--dry-run]\n"
		"       [--json]",
	.help = "run a workflow on the cluster by a plan (paper 3)\n\n"
		"FILE is a WfFormat 1.5 document whose tasks have commands; with --make or --ninja they\n"
		"are the commands that make or ninja would run. Hosts are probed; each\n"
		"task is started as by `ehctl exec HOST --` when its parents have ended and it is its\n"
		"turn in the plan. If a host leaves, or a task takes twice as long as expected, what\n"
		"has not started is planned again. The exit status is 1 if a task failed.",
	.options = options,
	.run = run_dag,
	.settings = &settings,
};
