// SPDX-License-Identifier: GPL-2.0-or-later
#include "home/learn.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/keep.h"
#include "base/log.h"
#include "base/user.h"
#include "cluster/credits.h"
#include "cost/key.h"
#include "cost/table.h"
#include "cost/text.h"
#include "home/record.h"
#include "net/peer.h"
#include "node/node.h"

#define LEARN_FILE "costs"
#define LEARN_SAVE_S 300
#define LEARN_MEMORY_MAX (1ull << 50) /* bytes that executors believe */
#define LEARN_WATCHED 1024 /* tasks here, each with a descriptor */
#define LEARN_WATCHED_USER 64 /* of one user, who must not take them from others */

/* A task that runs here. */
struct learn_task {
	struct agent *agent;
	LIST_ENTRY(learn_task) link;
	struct event *ended;
	int pidfd;
	uid_t uid;
	uint64_t key, began_us;
	bool alone; /* a processor was free for it */
};

struct learn {
	struct cost_table *table;
	struct event *save;
	bool changed, told; /* the latter: that it cannot be kept */
	LIST_HEAD(, learn_task) tasks;
	unsigned int count;
};

static int64_t learn_now(void)
{
	return clock_wall_ms() / 1000;
}

/* ---- what is expected ---- */

/* Somebody may have thousands of numbers in a namespace of his own, but no names for them. */
static bool learn_knows(uid_t uid)
{
	return uid == geteuid() || user_name(uid);
}

bool learn_keeps(struct placement *p, const struct placement_task *task)
{
	struct learn *l = p->agent->learn;
	const struct cost_expected *e = &p->expected;

	if (!l || !p->agent->config->learn || !learn_knows(p->uid))
		return false;
	p->learns = true;
	p->cost_key = cost_key(p->path, task->argv);
	if (p->cost_key)
		p->takes = cost_memory(l->table, p->uid, p->cost_key, learn_now()) << 10;
	if (p->takes > LEARN_MEMORY_MAX)
		p->takes = LEARN_MEMORY_MAX;
	if (p->takes)
		record_step(p, "expected to take up to %" PRIu64 " MiB of memory",
			    (p->takes + (1 << 20) - 1) >> 20);
	p->is_expected = p->cost_key &&
			 cost_expect(l->table, p->uid, p->cost_key, learn_now(), &p->expected);
	if (!p->is_expected)
		return false;
	if (e->transfer_us)
		record_step(p, "expected: %.1f ms, up to %.1f (%u runs %s); a transfer: %.1f ms",
			    e->time_us / 1e3, e->most_us / 1e3, e->runs,
			    e->place == COST_AWAY ? "away" : "here", e->transfer_us / 1e3);
	else
		record_step(p, "expected: %.1f ms, up to %.1f (%u runs %s); no transfer known",
			    e->time_us / 1e3, e->most_us / 1e3, e->runs,
			    e->place == COST_AWAY ? "away" : "here");
	return !p->explicit_node && !p->leaves && cost_is_short(e);
}

/* ---- what was ---- */

static void learn_ran(struct agent *agent, uid_t uid, uint64_t key, enum cost_place place,
		      const struct cost_run *run)
{
	if (!agent->config->learn)
		return;
	cost_ran(agent->learn->table, uid, key, place, run, learn_now());
	agent->learn->changed = true;
}

static void learn_task_free(struct learn_task *t)
{
	LIST_REMOVE(t, link);
	t->agent->learn->count--;
	event_free(t->ended);
	close(t->pidfd);
	free(t);
}

/* Whether each task here has a processor, as far as this node counts them. */
static bool learn_alone(struct agent *agent)
{
	return credits_on(agent) && credits_tasks(agent) <= node_processors(agent);
}

/* How it ended is for its parent alone, and so is what it used. */
static void learn_on_end(evutil_socket_t fd, short what, void *arg)
{
	struct learn_task *t = arg;
	const struct cost_run run = { .time_us = clock_us() - t->began_us };

	learn_ran(t->agent, t->uid, t->key, COST_HERE, &run);
	if (t->alone && learn_alone(t->agent))
		learn_ran(t->agent, t->uid, t->key, COST_ALONE, &run);
	learn_task_free(t);
}

static bool learn_has_room(const struct learn *l, uid_t uid)
{
	const struct learn_task *t;
	unsigned int same = 0;

	LIST_FOREACH(t, &l->tasks, link)
		same += t->uid == uid;
	return l->count < LEARN_WATCHED && same < LEARN_WATCHED_USER;
}

void learn_stays(struct placement *p)
{
	struct learn *l = p->agent->learn;
	struct learn_task *t;

	/* One that was to run on a node that its user named does not run. */
	if (!p->learns || !p->cost_key || p->explicit_node || !learn_has_room(l, p->uid))
		return;
	t = calloc(1, sizeof(*t));
	if (!t)
		return;
	t->agent = p->agent;
	t->uid = p->uid;
	t->key = p->cost_key;
	t->began_us = clock_us();
	t->alone = learn_alone(p->agent);
	t->pidfd = syscall(SYS_pidfd_open, p->pid, 0u);
	if (t->pidfd < 0)
		goto free_task;
	t->ended = event_new(p->agent->base, t->pidfd, EV_READ, learn_on_end, t);
	if (!t->ended || event_add(t->ended, NULL))
		goto close_pidfd;
	LIST_INSERT_HEAD(&l->tasks, t, link);
	l->count++;
	return;

close_pidfd:
	agent_free_event(&t->ended);
	close(t->pidfd);
free_task:
	free(t);
}

void learn_started(struct placement *p)
{
	struct agent *agent = p->agent;

	if (!p->learns || !agent->config->learn)
		return;
	p->started_us = clock_us();
	cost_transferred(agent->learn->table, p->uid, peer_host(p->to), p->started_us - p->began_us,
			 learn_now());
	agent->learn->changed = true;
}

void learn_ended(struct placement *p, int status)
{
	const double cpu = p->cpu_user + p->cpu_system; /* its user says so: it may be anything */
	const struct cost_run run = { .time_us = clock_us() - p->started_us,
				      .used = p->used,
				      .cpu_us = cpu < 1e9 ? cpu * 1e6 : 1e15,
				      .memory_kib = p->memory / 1024,
				      .bytes = p->bytes };

	/* Not of one that was killed: it did not run as long as it would have. */
	if (!p->started_us || !p->cost_key || !WIFEXITED(status))
		return;
	learn_ran(p->agent, p->uid, p->cost_key, COST_AWAY, &run);
	if (p->by_credit && !p->credit.tier && p->agent->config->learn)
		cost_compared(p->agent->learn->table, p->uid, p->cost_key, peer_host(p->to), &run,
			      learn_now());
}

unsigned int learn_slowness(const struct placement *p, const struct peer *there)
{
	return p->learns && p->agent->config->learn ? cost_slowness(p->agent->learn->table, p->uid,
								    peer_host(there), learn_now())
						    : 0;
}

bool learn_retries(const struct placement *p, const struct peer *there)
{
	return p->learns && p->agent->config->learn &&
	       cost_retries(p->agent->learn->table, p->uid, p->cost_key, peer_host(there),
			    learn_now());
}

void learn_starved(struct placement *p)
{
	struct agent *agent = p->agent;

	if (!p->learns || !p->cost_key || !agent->config->learn)
		return;
	cost_starved(agent->learn->table, p->uid, p->cost_key, p->used ? p->memory / 1024 : 0,
		     learn_now());
	agent->learn->changed = true;
}

/* ---- the file ---- */

static void learn_on_saved(void *ctx, int err)
{
	struct agent *agent = ctx;
	struct learn *l = agent->learn;

	/* The next time comes soon, and the log has better use for its lines. */
	if (err && !(l && l->told))
		log_warning("what programs cost cannot be kept in %s beside %s: %s", LEARN_FILE,
			    agent->config->state, strerror(-err));
	if (l) {
		l->told = err;
		l->changed |= err != 0;
	}
}

static void learn_save(struct agent *agent)
{
	struct learn *l = agent->learn;
	char *text;
	int err;

	if (!l->changed || !agent->config->learn)
		return;
	l->changed = false;
	text = cost_write(l->table);
	err = text ? keep_write(agent, LEARN_FILE, text, learn_on_saved, agent) : -ENOMEM;
	free(text);
	if (err)
		learn_on_saved(agent, err);
}

static void learn_on_time(evutil_socket_t fd, short what, void *arg)
{
	learn_save(arg);
}

static void learn_load(struct agent *agent)
{
	char *text = keep_read(agent->config, LEARN_FILE, COST_TEXT_MAX), why[COST_WHY];
	struct cost_table *kept;

	if (!text) {
		if (errno != ENOENT)
			log_warning("%s beside %s cannot be read: %s: nothing is known of what "
				    "programs cost",
				    LEARN_FILE, agent->config->state, strerror(errno));
		return;
	}
	kept = cost_read(text, why);
	free(text);
	if (!kept) {
		log_warning("%s beside %s is refused as a whole: %s: nothing is known of what "
			    "programs cost",
			    LEARN_FILE, agent->config->state, why);
		return;
	}
	cost_free(agent->learn->table);
	agent->learn->table = kept;
	log_debug("the costs of %u programs are known", cost_count(kept));
}

int learn_init(struct agent *agent)
{
	struct learn *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	agent->learn = l;
	l->table = cost_new();
	l->save = event_new(agent->base, -1, EV_PERSIST, learn_on_time, agent);
	if (!l->table || !l->save || clock_arm(l->save, LEARN_SAVE_S * 1000))
		return -ENOMEM; /* learn_exit() has the rest */
	learn_load(agent);
	return 0;
}

void learn_exit(struct agent *agent)
{
	struct learn *l = agent->learn;

	if (!l)
		return;
	if (l->table)
		learn_save(agent);
	while (!LIST_EMPTY(&l->tasks))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it takes itself out of the list, through prev */
		learn_task_free(LIST_FIRST(&l->tasks));
	agent_free_event(&l->save);
	cost_free(l->table);
	free(l);
	agent->learn = NULL;
}
