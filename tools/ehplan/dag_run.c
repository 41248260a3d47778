// SPDX-License-Identifier: GPL-2.0-or-later
/* Starts each task on its host when its parents have ended and it is its turn. */
#include "dag_run.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "remote.h"

#define LOOK_SECONDS 0.5 /* between two looks at the cluster */
#define AVOID_SECONDS 1 /* a host that refused a task gets no other for this long */
#define TRIES_MOST 8
#define LATE_FACTOR 2 /* the plan is wrong when a task takes this many times as long as expected */
#define LATE_LEAST 0.05 /* and at least this many seconds longer */
#define AGAIN_LEAST 0.25 /* seconds between two plans because of late tasks */
#define BUILD_JOBS 2 /* commands that the tool of a build offers at a time, for each slot */
#define END_SECONDS 5 /* tasks that were told to end are killed after this */

double dag_run_now(const struct dag_run *run)
{
	return progress_now() - run->began;
}

static const char *name_of(const struct dag_run *run, uint32_t task)
{
	return dag_task_name(run->work.graph, task);
}

static struct cluster_host *host_of(const struct dag_run *run, const struct dag_task *t)
{
	return &run->cluster.hosts[run->slots[t->slot].host];
}

static void tell(const struct dag_run *run, uint32_t task, int signal)
{
	if (!run->build)
		dag_keep_order(run, task, signal);
	else if (run->tasks[task].waiter > 0)
		kill(-run->tasks[task].waiter, signal);
}

/* ---- turns ---- */

static void start_task(struct dag_run *run, uint32_t task, uint32_t slot)
{
	struct dag_task *t = &run->tasks[task];

	t->slot = slot;
	t->expected = dag_again_expect(run, task, run->slots[slot].host);
	t->start = dag_run_now(run);
	t->late_at = t->start + fmax(LATE_FACTOR * t->expected, t->expected + LATE_LEAST);
	t->dropped = false;
	run->notes[task] = (struct dag_note){ 0 };
	t->waiter = 0;
	/* if it or the keeper is gone, that is told as its end */
	if (run->build)
		build_send(run->build, task, host_of(run, t), run->view);
	else
		dag_keep_order(run, task, 0);
	t->state = DAG_RUNS;
	run->slots[slot].task = task;
	run->running++;
}

/* A free slot of the host: this one if it is one. DAG_RUN_NOWHERE: there is none. */
static uint32_t free_slot(const struct dag_run *run, uint32_t host, uint32_t wanted)
{
	if (run->slots[wanted].host == host && run->slots[wanted].task == DAG_RUN_NOWHERE)
		return wanted;
	for (uint32_t s = 0; s < run->nslots; s++)
		if (run->slots[s].host == host && run->slots[s].task == DAG_RUN_NOWHERE)
			return s;
	return DAG_RUN_NOWHERE;
}

bool dag_run_may_start(const struct dag_run *run, uint32_t task)
{
	return run->build ? dag_build_wants(run, task) : !run->tasks[task].missing;
}

/* Starts what can start on one host. */
static void start_host(struct dag_run *run, uint32_t host)
{
	uint32_t *queue = run->queue[host], *head = &run->head[host];

	if (!dag_again_usable(run, host))
		return;
	while (*head < run->queued[host] && run->tasks[queue[*head]].state != DAG_WAITS)
		(*head)++;
	for (uint32_t i = *head; i < run->queued[host]; i++) {
		struct dag_task *t = &run->tasks[queue[i]];
		uint32_t slot;

		if (t->state != DAG_WAITS)
			continue;
		slot = free_slot(run, host, t->slot);
		if (slot == DAG_RUN_NOWHERE)
			break;
		if (dag_run_may_start(run, queue[i]))
			start_task(run, queue[i], slot);
		else if (run->strict)
			break;
	}
}

/* Starts on the host's free slots what waits elsewhere. */
static void start_idle(struct dag_run *run, uint32_t host)
{
	while (dag_again_usable(run, host)) {
		uint32_t slot = free_slot(run, host, 0);
		uint32_t task = slot == DAG_RUN_NOWHERE ? slot : dag_idle_task(run, host);

		if (task == DAG_RUN_NOWHERE)
			break;
		start_task(run, task, slot);
	}
}

static void start_ready(struct dag_run *run)
{
	for (uint32_t h = 0; h < run->cluster.n; h++)
		start_host(run, h);
	for (uint32_t h = 0; h < run->cluster.n; h++)
		start_idle(run, h);
}

/* ---- ends ---- */

static void count_down(struct dag_run *run, uint32_t task)
{
	const struct dag_graph *g = run->work.graph;

	for (uint32_t i = g->out_at[task]; i < g->out_at[task + 1]; i++)
		run->tasks[g->out[i].task].missing--;
}

/* Tasks are in topological order, so one pass finds all that depend on a failed one. */
static void leave_dependent(struct dag_run *run, uint32_t failed)
{
	const struct dag_graph *g = run->work.graph;

	for (uint32_t t = failed + 1; t < g->tasks; t++)
		for (uint32_t i = g->in_at[t]; i < g->in_at[t + 1]; i++) {
			enum dag_state parent = run->tasks[g->in[i].task].state;

			if (run->tasks[t].state != DAG_WAITS ||
			    (parent != DAG_FAILED && parent != DAG_LEFT))
				continue;
			run->tasks[t].state = DAG_LEFT;
			run->left++;
		}
}

static void take_success(struct dag_run *run, uint32_t task)
{
	struct dag_task *t = &run->tasks[task];

	t->state = DAG_DONE;
	run->done++;
	durations_put(run->durations, run->work.key[task],
		      fmax(0, t->finish - t->start - host_of(run, t)->startup));
	count_down(run, task);
}

/* Runs again elsewhere, unless that was tried too often. Returns whether it does. */
static bool try_again(struct dag_run *run, struct dag_task *t)
{
	if (++t->tries >= TRIES_MOST)
		return false;
	t->state = DAG_WAITS;
	return true;
}

/* Whether the failure is of the task, and not of the way to its host. */
static bool is_own_failure(struct dag_run *run, uint32_t task, char *why, size_t size)
{
	struct dag_task *t = &run->tasks[task];
	struct cluster_host *host = host_of(run, t);

	snprintf(why, size, "%s is gone", host->name);
	if (t->dropped)
		return false;
	if (host->self)
		return true;
	cluster_look(&run->cluster);
	if (cluster_way(run->notes[task].pid, why, size) != CLUSTER_WENT) {
		run->avoid_until[run->slots[t->slot].host] = dag_run_now(run) + AVOID_SECONDS;
		return false;
	}
	snprintf(why, size, "%s is gone", host->name);
	return host->up;
}

/* Why a new plan is needed, in `why`; empty: it is not. 0 or an exit code after a message. */
static int take_failure(struct dag_run *run, uint32_t task, char *why, size_t size)
{
	struct dag_task *t = &run->tasks[task];
	char reason[DAG_RUN_WHY];

	*why = '\0';
	if (!run->notes[task].ended && !t->dropped && !run->build)
		return fail(EXIT_REFUSED,
			    "%s: its end cannot be written to the journal, so nothing more starts",
			    name_of(run, task));
	if (!is_own_failure(run, task, reason, sizeof(reason)) && try_again(run, t)) {
		snprintf(why, size, "%s", reason);
		return 0;
	}
	t->state = DAG_FAILED;
	run->failed++;
	if (!run->build)
		leave_dependent(run, task);
	return 0;
}

int dag_run_ended(struct dag_run *run, uint32_t task, char *why, size_t size)
{
	struct dag_task *t = &run->tasks[task];
	const struct dag_note *note = &run->notes[task];

	run->running--;
	run->slots[t->slot].task = DAG_RUN_NOWHERE;
	t->start = note->start > 0 ? note->start - run->began : t->start;
	t->finish = note->ended ? note->finish - run->began : dag_run_now(run);
	t->code = note->ended ? remote_code(note->status) : 128 + SIGKILL;
	t->waiter = 0;
	run->real = fmax(run->real, t->finish);
	if (note->ended && !t->code) {
		take_success(run, task);
		return 0;
	}
	if (run->stopped) {
		t->state = DAG_WAITS;
		return 0;
	}
	return take_failure(run, task, why, size);
}

/* Tasks of which the end was told. */
static int take_told(struct dag_run *run, char *why, size_t size)
{
	uint32_t task;
	int code = 0;

	while (!code && read(run->ends[0], &task, sizeof(task)) == sizeof(task)) {
		char reason[DAG_RUN_WHY] = "";

		if (run->tasks[task].state == DAG_RUNS && run->notes[task].over)
			code = dag_run_ended(run, task, reason, sizeof(reason));
		if (*reason)
			snprintf(why, size, "%s", reason);
	}
	return code;
}

/* The ends of what it has started cannot be written any more. */
static void lose_keeper(struct dag_run *run)
{
	char why[DAG_RUN_WHY];

	run->stopped = "the process that starts the tasks is gone";
	for (uint32_t s = 0; s < run->nslots; s++) {
		uint32_t task = run->slots[s].task;

		if (task == DAG_RUN_NOWHERE)
			continue;
		if (run->notes[task].pid > 0)
			kill(-run->notes[task].pid, SIGKILL);
		dag_run_ended(run, task, why, sizeof(why));
	}
}

static int reap(struct dag_run *run, char *why, size_t size)
{
	int status, code = take_told(run, why, size);
	pid_t pid;

	while (!code && (pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (run->build && pid == run->build->pid) {
			run->build->pid = 0;
			run->build->status = status;
		}
		if (pid == run->keeper)
			lose_keeper(run);
	}
	return code;
}

/* ---- what goes otherwise than planned ---- */

/* Ends tasks on hosts that have been down for long enough; their ends come as those of others. */
static void drop_lost(struct dag_run *run)
{
	double now = dag_run_now(run);

	cluster_note_down(&run->cluster, now, run->down_since);
	for (uint32_t s = 0; s < run->nslots; s++) {
		uint32_t host = run->slots[s].host, task = run->slots[s].task;

		if (task == DAG_RUN_NOWHERE || run->tasks[task].dropped ||
		    !cluster_is_lost(run->down_since[host], now, run->grace))
			continue;
		run->tasks[task].dropped = true;
		tell(run, task, SIGKILL);
	}
}

static void find_late(struct dag_run *run, char *why, size_t size)
{
	double now = dag_run_now(run);

	for (uint32_t s = 0; s < run->nslots; s++) {
		uint32_t task = run->slots[s].task;
		struct dag_task *t = task == DAG_RUN_NOWHERE ? NULL : &run->tasks[task];

		if (!t || now < t->late_at)
			continue;
		/* nobody knows: as long again */
		t->expected = 2 * (now - t->start);
		t->late_at = t->start + t->expected;
		snprintf(why, size, "%.60s takes more than twice as long as expected",
			 name_of(run, task));
	}
}

/* How far it is until the next task is late, at most until the next look. */
static double next_event(const struct dag_run *run, double look_at)
{
	double now = dag_run_now(run), next = look_at;

	for (uint32_t s = 0; s < run->nslots; s++) {
		uint32_t task = run->slots[s].task;

		if (task != DAG_RUN_NOWHERE)
			next = fmin(next, run->tasks[task].late_at);
	}
	return fmax(next - now, 0.001);
}

static void tell_all(const struct dag_run *run, int signal)
{
	for (uint32_t s = 0; s < run->nslots; s++)
		if (run->slots[s].task != DAG_RUN_NOWHERE)
			tell(run, run->slots[s].task, signal);
	if (run->build)
		dag_build_stop(run, signal);
}

/* ---- the loop ---- */

struct loop {
	struct dag_run *run;
	int signals;
	int asked; /* a question to the agent, or -1 */
	double look_at, late_at; /* next look at the cluster; next plan because of late tasks */
	double stop_at; /* tasks are killed then; 0: they are not told to end yet */
	double without; /* since when no host can be used; 0: one can */
	char why[DAG_RUN_WHY]; /* a new plan is needed */
};

static void stop(struct loop *l, const char *why, int signal)
{
	if (l->stop_at > 0)
		return;
	l->run->stopped = why;
	l->run->signal = signal;
	l->stop_at = dag_run_now(l->run) + END_SECONDS;
	tell_all(l->run, SIGTERM);
}

static int take_signals(struct loop *l)
{
	struct signalfd_siginfo info;
	bool ended = false;

	while (read(l->signals, &info, sizeof(info)) == sizeof(info)) {
		ended = ended || info.ssi_signo == SIGCHLD;
		if (info.ssi_signo != SIGCHLD)
			stop(l, "interrupted", (int)info.ssi_signo);
	}
	if (l->run->build) {
		int code = dag_build_hear(l->run, l->why, sizeof(l->why));

		if (code)
			return code;
	}
	return ended ? reap(l->run, l->why, sizeof(l->why))
		     : take_told(l->run, l->why, sizeof(l->why));
}

/* 0 or an exit code after a message. */
static int plan_again(struct loop *l)
{
	int code = dag_again_plan(l->run, l->why);
	double now = dag_run_now(l->run);

	if (code != -EAGAIN) {
		l->without = 0;
		*l->why = '\0';
		return code;
	}
	if (!(l->without > 0))
		l->without = now;
	if (now - l->without > l->run->grace + AVOID_SECONDS && !l->run->running)
		stop(l, "no host can be used any more", 0);
	return 0;
}

static int look(struct loop *l, bool answered)
{
	struct dag_run *run = l->run;
	double now = dag_run_now(run);
	bool changed = false;

	if (answered && l->asked >= 0) {
		changed = cluster_answer(&run->cluster, l->asked);
		l->asked = -1;
	}
	if (now >= l->look_at) {
		l->look_at = now + LOOK_SECONDS;
		if (l->asked < 0)
			l->asked = cluster_ask();
		for (uint32_t h = 0; h < run->cluster.n; h++) {
			if (!(run->avoid_until[h] > 0) || run->avoid_until[h] > now)
				continue;
			run->avoid_until[h] = 0;
			changed = true;
		}
		drop_lost(run);
	}
	if (changed && !*l->why)
		snprintf(l->why, sizeof(l->why), "other hosts can be used");
	if (now >= l->late_at && !*l->why) {
		find_late(run, l->why, sizeof(l->why));
		if (*l->why)
			l->late_at = now + AGAIN_LEAST;
	}
	return *l->why && !run->stopped ? plan_again(l) : 0;
}

static int step(struct loop *l)
{
	struct dag_run *run = l->run;
	struct pollfd p[] = { { l->signals, POLLIN, 0 },
			      { l->asked, POLLIN, 0 },
			      { l->run->ends[0], POLLIN, 0 },
			      { run->build ? run->build->events : -1, POLLIN, 0 } };
	double wait = next_event(run, l->look_at);
	int code = 0;

	if (run->stopped && dag_run_now(run) > l->stop_at)
		tell_all(run, SIGKILL);
	if (!run->stopped)
		start_ready(run);
	if (poll(p, 4, (int)ceil(fmin(wait, LOOK_SECONDS) * 1000)) < 0 && errno != EINTR)
		return fail(EXIT_REFUSED, "poll: %s", strerror(errno));
	code = take_signals(l);
	if (!code)
		code = look(l, p[1].revents);
	progress_show("running tasks", run->done, run->work.graph->tasks);
	return code;
}

static bool is_over(const struct dag_run *run)
{
	if (run->build)
		return !run->running && !run->build->pid;
	return !run->running &&
	       (run->stopped || run->done + run->failed + run->left == run->work.graph->tasks);
}

int dag_run_all(struct dag_run *run)
{
	struct loop l = { .run = run, .asked = -1 };
	int code = 0, worst = 0;

	l.signals = remote_signals(SFD_NONBLOCK);
	if (l.signals < 0)
		return EXIT_REFUSED;
	if (pipe2(run->ends, O_CLOEXEC | O_NONBLOCK))
		worst = fail(EXIT_REFUSED, "pipe: %s", strerror(errno));
	if (worst)
		goto close_signals;
	if (!run->build)
		worst = dag_keep_start(run);
	else
		worst = build_start(run->build,
				    run->build->nlines ? BUILD_JOBS * (run->nslots + 1)
						       : run->nslots,
				    run->quiet ? STDERR_FILENO : STDOUT_FILENO, run->journal);
	l.look_at = dag_run_now(run) + LOOK_SECONDS;
	while (!is_over(run)) {
		code = step(&l);
		worst = worst ? worst : code;
		if (code)
			stop(&l, "see above", 0);
	}
	progress_show("running tasks", 1, 1);
	if (run->build && !worst)
		dag_build_settle(run);
	/* the keeper writes the last ends to disk */
	if (run->orders > 0)
		close(run->orders);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	if (l.asked >= 0)
		close(l.asked);
	close(run->ends[0]);
	close(run->ends[1]);
close_signals:
	close(l.signals);
	return worst;
}
