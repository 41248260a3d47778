// SPDX-License-Identifier: GPL-2.0-or-later
#include "home/record.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "cluster/report.h"
#include "home/eligible.h"
#include "net/peer.h"
#include "wire/attach.h"
#include "wire/clean.h"
#include "wire/reason.h"

#define RECORD_KEPT 1024
#define RECORD_OWN_COOKIES (1ull << 62)

struct records {
	struct placement *ids; /* a hash */
	struct placement *oldest, **newest; /* of ended ones */
	unsigned int kept;
	uint64_t counter; /* next id for placements without the kernel's */
};

void record_step(struct placement *p, const char *format, ...)
{
	unsigned int i = p->nsteps < RECORD_STEPS ? p->nsteps++ : RECORD_STEPS - 1;
	va_list args;

	p->steps[i].us = clock_us() - p->began_us;
	va_start(args, format);
	vsnprintf(p->steps[i].what, sizeof(p->steps[i].what), format, args);
	va_end(args);
}

void record_time(struct placement *p, enum timing_step step)
{
	p->timing.us[step] = clock_us();
}

unsigned int record_time_left(const struct placement *p)
{
	uint64_t gone = (clock_us() - p->began_us) / 1000;

	return gone < p->time_ms ? p->time_ms - gone : 1;
}

/* Sets the program's name for people. */
static void record_name(struct placement *p)
{
	const char *slash = strrchr(p->path, '/');

	clean_text(p->command, sizeof(p->command), slash && slash[1] ? slash + 1 : p->path);
}

void record_arguments(struct placement *p, const char *const *argv)
{
	const size_t room = p->agent->config->history ? p->agent->config->history_arguments : 0;

	if (!room || p->arguments)
		return;
	p->arguments = malloc(room + 1);
	if (p->arguments)
		clean_words(p->arguments, room + 1, argv);
}

/* ---- their life ---- */

static void record_free(struct placement *p)
{
	struct records *r = p->agent->records;
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): clang does not follow the links of uthash */
	HASH_DELETE(by_id, r->ids, p);
	if (p->judge)
		eligible_cancel(p->judge);
	agent_free_event(&p->timer);
	json_decref(p->program);
	json_decref(p->folder);
	free(p->wish);
	free(p->path);
	free(p->arguments);
	free(p);
}

/* Adds it to the ended ones, if it is over and not held. */
static void record_retire(struct placement *p)
{
	struct records *r = p->agent->records;
	struct placement *old;

	if (p->phase != PLACEMENT_OVER || p->calls)
		return;
	json_decref(p->program);
	json_decref(p->folder);
	p->program = p->folder = NULL;
	free(p->wish);
	p->wish = NULL;
	event_free(p->timer);
	p->timer = NULL;
	p->next = NULL;
	*r->newest = p;
	r->newest = &p->next;
	if (++r->kept <= RECORD_KEPT)
		return;
	old = r->oldest;
	r->oldest = old->next;
	r->kept--;
	record_free(old);
}

void record_over(struct placement *p)
{
	p->token[0] = '\0';
	p->phase = PLACEMENT_OVER;
	evtimer_del(p->timer);
	record_retire(p);
}

void record_hold(struct placement *p)
{
	p->calls++;
}

void record_release(struct placement *p)
{
	p->calls--;
	record_retire(p);
}

struct placement *record_new(struct agent *agent, const struct placement_task *task,
			     event_callback_fn on_timer)
{
	struct placement *p = calloc(1, sizeof(*p)), *old;

	if (!p)
		return NULL;
	p->timer = evtimer_new(agent->base, on_timer, p);
	p->agent = agent;
	p->path = strdup(task->exec.path);
	if (!p->timer || !p->path)
		goto free_placement;
	record_name(p);
	p->kernel = task->exec.cookie;
	p->cookie = task->exec.cookie ? task->exec.cookie : agent->records->counter++;
	snprintf(p->id, sizeof(p->id), "%s:%llu", agent->code, (unsigned long long)p->cookie);
	/* A module that was loaded again starts from the first cookie: older records give way. */
	HASH_FIND(by_id, agent->records->ids, p->id, strlen(p->id), old);
	if (old) {
		HASH_DELETE(by_id, agent->records->ids, old);
		snprintf(old->id, sizeof(old->id), "%s:old:%llu", agent->code,
			 (unsigned long long)agent->records->counter++);
		HASH_ADD(by_id, agent->records->ids, id, strlen(old->id), old);
	}
	p->began_us = clock_us();
	p->started = clock_wall_ms();
	p->pid = task->exec.pid;
	p->uid = task->exec.uid;
	p->time_ms = task->exec.time_ms;
	p->explicit_node = task->node;
	HASH_ADD(by_id, agent->records->ids, id, strlen(p->id), p);
	return p;

free_placement:
	agent_free_event(&p->timer);
	free(p->path);
	free(p);
	return NULL;
}

static void record_ignore(evutil_socket_t fd, short what, void *arg)
{
	/* nothing is waited for: it is away */
}

/* It is shown to everybody. */
bool record_id_is_ours(const struct agent *agent, const char *id)
{
	return report_id_is_of(id, agent->code);
}

struct placement *record_adopt(struct agent *agent, const struct attach *who, struct peer *to,
			       pid_t pid, uid_t uid)
{
	const struct placement_task task = {
		.exec = { .pid = pid, .uid = uid, .path = who->command }
	};
	struct placement *p;

	if (record_by_id(agent, who->id) || strlen(who->id) >= sizeof(p->id))
		return NULL;
	p = record_new(agent, &task, record_ignore);
	if (!p)
		return NULL;
	HASH_DELETE(by_id, agent->records->ids, p);
	strcpy(p->id, who->id);
	HASH_ADD(by_id, agent->records->ids, id, strlen(p->id), p);
	/* The agent that decided it has gone, or never knew of it. */
	p->explicit_node = p->adopted = true;
	p->phase = PLACEMENT_AWAY;
	p->to = to;
	p->remote = who->pid;
	p->started = who->started_ms;
	p->broken = true;
	record_step(p, "runs on %s as process %u, says process %d, which came to this agent",
		    peer_host(to), who->pid, (int)pid);
	return p;
}

void record_broken(struct placement *p, bool broken)
{
	if (p->broken != broken)
		record_step(p, broken ? "the connection to %s broke" : "connected to %s again",
			    peer_host(p->to));
	p->broken = broken;
}

/* ---- what others want to know ---- */

static const char *record_state(const struct placement *p)
{
	/* A stub that is stopped at once does not tell that its task has started. */
	return p->broken		    ? "reconnecting"
	       : p->stopped		    ? "stopped"
	       : p->phase != PLACEMENT_AWAY ? "starting"
					    : "running";
}

struct placement *record_by_id(struct agent *agent, const char *id)
{
	struct placement *p;

	HASH_FIND(by_id, agent->records->ids, id, strlen(id), p);
	return p;
}

struct placement *record_by_cookie(struct agent *agent, uint64_t cookie)
{
	char id[sizeof(((struct placement *)0)->id)];

	snprintf(id, sizeof(id), "%s:%llu", agent->code, (unsigned long long)cookie);
	return record_by_id(agent, id);
}

bool record_is_away(const struct placement *p)
{
	return p->phase == PLACEMENT_AWAY || p->phase == PLACEMENT_CLAIMED;
}

unsigned int record_open(const struct agent *agent, uid_t uid)
{
	unsigned int n = 0;

	for (const struct placement *p = agent->records->ids; p; p = p->by_id.next)
		n += p->uid == uid && p->phase == PLACEMENT_OPEN;
	return n;
}

void record_list(struct agent *agent, json_t *tasks)
{
	struct placement *p, *next;
	char when[32];

	HASH_ITER(by_id, agent->records->ids, p, next) {
		if (!record_is_away(p))
			continue;
		json_array_append_new(tasks,
				      json_pack("{s:s,s:i,s:s,s:s,s:s,s:i,s:s,s:s,s:s,s:f}", "id",
						p->id, "pid", (int)p->pid, "home", agent->code,
						"executor", peer_code(p->to), "command", p->command,
						"uid", (int)p->uid, "state", record_state(p),
						"reason", reason_name(p->reason), "started",
						clock_text(p->started, when), "elapsed",
						clock_elapsed(p->started)));
	}
}

void record_ids(struct agent *agent, json_t *ids)
{
	for (const struct placement *p = agent->records->ids; p; p = p->by_id.next)
		json_array_append_new(ids, json_string(p->id));
}

/* null: nothing was known of such tasks. */
static json_t *record_expected(const struct placement *p)
{
	const struct cost_expected *e = &p->expected;
	json_t *j;

	if (!p->is_expected)
		return json_null();
	j = json_pack("{s:s,s:i,s:f,s:f,s:o}", "place", e->place == COST_AWAY ? "away" : "here",
		      "runs", (int)e->runs, "ms", e->time_us / 1e3, "most_ms", e->most_us / 1e3,
		      "transfer_ms",
		      e->transfer_us ? json_real(e->transfer_us / 1e3) : json_null());
	json_object_set_new(j, "cpu_ms", e->used ? json_real(e->cpu_us / 1e3) : json_null());
	json_object_set_new(j, "memory", e->used ? json_integer(e->memory_kib << 10) : json_null());
	json_object_set_new(j, "bytes", e->used ? json_integer(e->bytes) : json_null());
	return j;
}

static const char *record_text(const struct placement *p)
{
	if (*p->text)
		return p->text;
	if (p->adopted)
		return "The agent before this one has placed it, and did not keep why.";
	return p->phase == PLACEMENT_OPEN ? "not decided yet" : "";
}

json_t *record_why(const struct placement *p)
{
	const struct agent *agent = p->agent;
	json_t *steps = json_array();

	for (unsigned int i = 0; i < p->nsteps; i++)
		json_array_append_new(steps,
				      json_pack("{s:f,s:s}", "at_ms", p->steps[i].us / 1000.0,
						"what", p->steps[i].what));
	return json_pack("{s:i,s:s,s:s,s:s,s:s,s:s,s:s,s:o,s:o}", "version", 1, "id", p->id,
			 "command", p->command, "home", agent->code, "executor",
			 p->to ? peer_code(p->to) : agent->code, "reason", reason_name(p->reason),
			 "text", record_text(p), "steps", steps, "expected", record_expected(p));
}

struct placement *record_by_pid(struct agent *agent, pid_t pid)
{
	struct placement *p, *found = NULL;

	/* In order of creation: the last record of a reused pid wins. */
	for (p = agent->records->ids; p; p = p->by_id.next)
		if (p->pid == pid)
			found = p;
	return found;
}

int record_init(struct agent *agent)
{
	struct records *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->newest = &r->oldest;
	/* Higher than in earlier runs of this agent, whose guests may still be known. */
	r->counter = RECORD_OWN_COOKIES + clock_wall_ms();
	agent->records = r;
	return 0;
}

void record_exit(struct agent *agent)
{
	struct placement *p, *next;

	if (!agent->records)
		return;
	HASH_ITER(by_id, agent->records->ids, p, next)
		record_free(p);
	free(agent->records);
	agent->records = NULL;
}
