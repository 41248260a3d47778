// SPDX-License-Identifier: GPL-2.0-or-later
/* A run whose tasks are the commands of make or ninja: the tool says when each may start. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "dag_run.h"
#include "journal.h"
#include "remote.h"

static int take_end(struct dag_run *run, const struct build_event *e, char *why, size_t size)
{
	struct dag_task *t = &run->tasks[e->task];
	struct dag_note *note = &run->notes[e->task];
	uint32_t host = run->slots[t->slot].host;
	int code = 0, err;

	note->start = e->start;
	note->finish = e->finish;
	note->status = e->status;
	note->ended = true;
	code = dag_run_ended(run, e->task, why, size);
	if (t->state == DAG_WAITS && !run->stopped)
		return code;
	build_finish(run->build, e->task);
	err = journal_write(run->journal, dag_task_name(run->work.graph, e->task),
			    run->work.key[e->task], run->cluster.hosts[host].name,
			    remote_code(e->status), e->finish - e->start);
	return code || !err ? code : fail(EXIT_REFUSED, "the journal: %s", strerror(-err));
}

/* What stood for it is gone, or the tool has killed it. */
static int take_loss(struct dag_run *run, uint32_t task, char *why, size_t size)
{
	struct dag_task *t = &run->tasks[task];

	if (t->state != DAG_RUNS)
		return 0;
	run->notes[task].ended = false;
	if (t->waiter > 0)
		kill(-t->waiter, SIGKILL);
	t->tries = UINT32_MAX - 1; /* nobody is there to run it again for */
	t->dropped = false;
	return dag_run_ended(run, task, why, size);
}

int dag_build_hear(struct dag_run *run, char *why, size_t size)
{
	struct build_event e = { 0 };
	enum build_what what;
	int code = 0;

	while (!code && (what = build_next(run->build, &e)) != BUILD_NOTHING) {
		char reason[DAG_RUN_WHY] = "";

		if (what == BUILD_RUNS) {
			run->tasks[e.task].waiter = run->notes[e.task].pid = e.pid;
			/* it was told to end before it was known */
			if (run->stopped)
				kill(-e.pid, SIGTERM);
		} else if (what == BUILD_ENDED && run->tasks[e.task].state == DAG_RUNS) {
			code = take_end(run, &e, reason, sizeof(reason));
		} else if (what == BUILD_LOST) {
			code = take_loss(run, e.task, reason, sizeof(reason));
		}
		if (*reason)
			memcpy(why, reason, size < sizeof(reason) ? size : sizeof(reason));
	}
	return code;
}

bool dag_build_wants(const struct dag_run *run, uint32_t task)
{
	return run->build->lines[task].fd >= 0;
}

void dag_build_stop(const struct dag_run *run, int signal)
{
	for (uint32_t t = 0; t < run->build->nlines; t++)
		if (run->tasks[t].state == DAG_WAITS)
			build_finish(run->build, t);
	if (run->build->pid > 0)
		kill(run->build->pid, signal);
}

/* make does not say that it ignores a failure ("-cmd"), but then what is behind it comes. */
static bool was_ignored(const struct dag_run *run, uint32_t task)
{
	const struct dag_graph *g = run->work.graph;
	bool came = !run->build->status;

	for (uint32_t i = g->out_at[task]; i < g->out_at[task + 1] && !came; i++)
		came = run->build->lines[g->out[i].task].came;
	return came;
}

void dag_build_settle(struct dag_run *run)
{
	bool came = !run->build->nlines || run->build->status || run->stopped;

	for (uint32_t t = 0; t < run->build->nlines && !came; t++)
		came = run->build->lines[t].came;
	if (!came)
		fail(0, "%s ran all commands by itself, here: is it another program?",
		     run->build->ninja ? "ninja" : "make");
	for (uint32_t t = 0; t < run->build->nlines; t++) {
		struct dag_task *task = &run->tasks[t];

		if (task->state == DAG_FAILED && was_ignored(run, t)) {
			task->state = DAG_DONE;
			run->failed--;
			run->done++;
		} else if (task->state == DAG_WAITS && !run->stopped) {
			task->state = DAG_LEFT;
			run->left++;
		}
	}
}
