// SPDX-License-Identifier: GPL-2.0-or-later
#include "home/stops.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <jansson.h>
#include <event2/buffer.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/keep.h"
#include "base/log.h"
#include "base/process.h"
#include "home/away_inside.h"
#include "home/record.h"
#include "job/route.h"
#include "net/peer.h"
#include "wire/attach.h"
#include "wire/frame.h"

#define STOPS_FILE "stopped.json"
#define STOPS_FILE_MAX (1 << 24)
#define STOPS_WATCH_MS 250
#define STOPS_LEFT_S 1
#define STOPS_LATE_MS 2000 /* so long executors wait for the disk */
#define STOPS_SAVES \
	20 /* at most one part in this many of the time is spent on making the file's text */

struct stops {
	struct event *watch; /* while a task is away */
	struct event *check; /* while there are some of an earlier agent */
	LIST_HEAD(, stop) left;
	stops_ended_fn ended;
	bool changed; /* the file is older */
	bool saving; /* it is being written */
	bool vain; /* what it should have is not there, or late: executors wait for it no more */
	bool kept; /* this agent ends, and the file is for the next one */
	uint64_t began, save_after; /* clock_us() */
	struct log_limit limit;
};

/* ---- the file ---- */

static json_t *stops_entry(const char *token, const char *id, const char *node, pid_t pid,
			   uid_t uid, uint64_t start, int64_t began_ms)
{
	return json_pack("{s:s,s:s,s:s,s:i,s:I,s:I,s:I}", "token", token, "id", id, "node", node,
			 "pid", (int)pid, "uid", (json_int_t)uid, "start", (json_int_t)start,
			 "began", (json_int_t)began_ms);
}

/* Since when its executor waits: its day does not begin again with each agent. */
static int stops_put_left(json_t *entry, uint64_t broken_at)
{
	return json_object_set_new(
		entry, "left", json_integer(clock_wall_ms() - (int64_t)(clock_ms() - broken_at)));
}

static int stops_list(const struct agent *agent, json_t *list)
{
	const struct stop *s;
	json_t *entry;

	for (const struct away *a = agent->aways->list; a; a = a->next) {
		if (!a->was_stopped ||
		    (a->state != AWAY_LINKED && a->state != AWAY_BROKEN && a->state != AWAY_TOLD))
			continue;
		entry = stops_entry(a->token, a->id, peer_code(a->to), a->pid, a->uid,
				    a->stub_start, a->began_ms);
		if (json_array_append_new(list, entry) ||
		    (a->state == AWAY_BROKEN && a->route.socket < 0 &&
		     stops_put_left(entry, a->broken_at)))
			return -ENOMEM;
	}
	LIST_FOREACH(s, &agent->aways->stops->left, link) {
		entry = stops_entry(s->token, s->id, s->node, s->pid, s->uid, s->start,
				    s->began_ms);
		if (json_array_append_new(list, entry) || stops_put_left(entry, s->broken_at))
			return -ENOMEM;
	}
	return 0;
}

static char *stops_text(const struct agent *agent)
{
	json_t *list = json_array(), *file = json_object();
	char *text = NULL;

	if (!stops_list(agent, list) &&
	    !json_object_set_new(file, "boot", json_string(clock_boot_id())) &&
	    !json_object_set(file, "stopped", list))
		text = json_dumps(file, JSON_COMPACT);
	json_decref(list);
	json_decref(file);
	return text;
}

static void stops_save(struct agent *agent);
static void stops_tell_all(struct agent *agent);

static void stops_saved(struct agent *agent, int err)
{
	struct stops *all = agent->aways->stops;

	all->saving = false;
	all->vain = err;
	all->changed = all->changed || err;
	if (err && log_allowed(&all->limit))
		log_warning("stopped tasks cannot be kept in %s beside %s: %s: if this agent is "
			    "killed, the executors of those that end meanwhile wait for a day",
			    STOPS_FILE, agent->config->state, strerror(-err));
	/* else it is saved again with the next look */
	if (!err && !event_pending(all->watch, EV_TIMEOUT, NULL))
		stops_save(agent);
}

static void stops_on_saved(void *ctx, int err)
{
	struct agent *agent = ctx;

	if (!agent->aways || !agent->aways->stops)
		return;
	stops_saved(agent, err);
	stops_tell_all(agent);
}

static void stops_save(struct agent *agent)
{
	struct stops *all = agent->aways->stops;
	char *text;
	int err;

	if (!all->changed || all->saving || all->kept)
		return;
	all->began = clock_us();
	all->changed = false;
	all->saving = true;
	text = stops_text(agent);
	err = text ? keep_note(agent, STOPS_FILE, text, stops_on_saved, agent) : -ENOMEM;
	free(text);
	all->save_after = clock_us() + STOPS_SAVES * (clock_us() - all->began);
	if (err)
		stops_saved(agent, err);
}

/* Whether the file has all that it should, or is not worth a wait. */
static bool stops_is_kept(struct stops *all)
{
	if (!all->changed && !all->saving)
		return true;
	if (all->saving && clock_us() - all->began > STOPS_LATE_MS * 1000)
		all->vain = true;
	return all->vain;
}

static struct stop *stops_read_entry(const json_t *entry, bool same_boot)
{
	const char *token, *id, *node;
	const json_int_t left = json_integer_value(json_object_get(entry, "left"));
	json_int_t uid, start, began, waited;
	struct stop *s;
	int pid;

	if (json_unpack((json_t *)entry, "{s:s,s:s,s:s,s:i,s:I,s:I,s:I}", "token", &token, "id",
			&id, "node", &node, "pid", &pid, "uid", &uid, "start", &start, "began",
			&began) ||
	    strlen(token) >= ATTACH_TOKEN || strlen(id) >= ATTACH_ID || strlen(node) >= ATTACH_CODE)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	snprintf(s->token, sizeof(s->token), "%s", token);
	snprintf(s->id, sizeof(s->id), "%s", id);
	snprintf(s->node, sizeof(s->node), "%s", node);
	s->pid = pid;
	s->uid = (uid_t)uid;
	s->start = same_boot ? (uint64_t)start : 0;
	s->began_ms = began;
	/* An earlier version does not say it, nor an agent that was killed. A clock may be wrong. */
	waited = left > 0 ? clock_wall_ms() - left : 0;
	s->broken_at = clock_ms() - (waited > 0 ? (uint64_t)waited : 0);
	return s;
}

/* One that cannot be read costs its executors a wait, and nothing else. */
static void stops_load(struct agent *agent)
{
	struct stops *all = agent->aways->stops;
	char *text = keep_read(agent->config, STOPS_FILE, STOPS_FILE_MAX);
	int err = text || errno == ENOENT ? 0 : errno;
	json_t *file = text ? json_loads(text, 0, NULL) : NULL, *entry;
	const char *boot = json_string_value(json_object_get(file, "boot"));
	bool same = boot && *boot && !strcmp(boot, clock_boot_id());
	struct stop *s;
	size_t i;

	if (err || (text && !boot))
		log_warning("%s beside %s: %s: nothing is known of stopped tasks", STOPS_FILE,
			    agent->config->state, err ? strerror(err) : "malformed");
	json_array_foreach(json_object_get(file, "stopped"), i, entry) {
		s = stops_read_entry(entry, same);
		if (s) {
			LIST_INSERT_HEAD(&all->left, s, link);
			all->changed = true;
		}
	}
	json_decref(file);
	free(text);
}

/* ---- those of an earlier agent ---- */

static void stop_free(struct stop *s)
{
	LIST_REMOVE(s, link);
	free(s);
}

static bool stop_lives(const struct stop *s)
{
	struct process now;

	return s->start && !process_look(s->pid, &now) && now.start == s->start && now.state != 'Z';
}

static void stops_on_check(evutil_socket_t fd, short what, void *arg)
{
	struct agent *agent = arg;
	struct stops *all = agent->aways->stops;
	struct stop *s, *next;

	for (s = LIST_FIRST(&all->left); s; s = next) {
		next = LIST_NEXT(s, link);
		/* Later no executor waits. */
		if (clock_ms() - s->broken_at > ATTACH_STOPPED_MS) {
			stop_free(s);
			all->changed = true;
		} else if (!stop_lives(s) && all->ended(agent, s)) {
			stop_free(s);
		}
	}
	stops_save(agent);
	if (LIST_EMPTY(&all->left))
		event_del(all->check);
}

static void stops_set(struct away *a, bool stopped)
{
	if (a->was_stopped != stopped)
		a->agent->aways->stops->changed = true;
	a->was_stopped = stopped;
	a->runs = 0;
}

void stops_over(struct away *a)
{
	stops_set(a, false);
}

void stops_come(struct away *a)
{
	struct stop *s;

	LIST_FOREACH(s, &a->agent->aways->stops->left, link)
		if (s->uid == a->uid && !strcmp(s->token, a->token))
			break;
	if (!s)
		return;
	stops_set(a, true);
	a->stub_start = s->start;
	stop_free(s);
}

bool stops_waits(const struct peer *to, uid_t uid)
{
	const struct stop *s;

	LIST_FOREACH(s, &to->agent->aways->stops->left, link)
		if (s->uid == uid && !strcmp(s->node, peer_code(to)))
			return true;
	return false;
}

/* ---- those of this one ---- */

void stops_changed(struct away *a)
{
	struct process stub;

	/* For people it makes no difference who has stopped it. */
	if (a->placement)
		a->placement->stopped = a->stopped_there || a->stopped_by_us;
	if (a->was_stopped || !(a->stopped_there || a->stopped_by_us) ||
	    process_look(a->pid, &stub))
		return;
	a->stub_start = stub.start;
	stops_set(a, true);
	/* The executor may have heard of it already. */
	if (clock_us() >= a->agent->aways->stops->save_after)
		stops_save(a->agent);
}

/* Also before the stub has told that the task runs: perhaps it was stopped just then. */
static void stops_look(struct away *a)
{
	struct process stub;
	bool stopped;

	if (a->state != AWAY_LINKED)
		return;
	stopped = !process_look(a->pid, &stub) && stub.state == 'T';
	/* Stopped there, the stub has stopped itself: also if it did so while the file was waited for. */
	a->tells_stopped =
		(stopped != a->stopped_by_us || !a->told_stopped) && !(stopped && a->stopped_there);
	if (!a->tells_stopped)
		return;
	a->stopped_by_us = stopped;
	a->told_stopped = false;
	stops_changed(a);
}

/*
 * That it goes on may not have come to the executor when this agent is killed. It has come if the
 * connection holds: a node that hears nothing closes it after three heartbeats, and the other one
 * hears that, or nothing, for three more. Looks are counted, as this agent may have stood still.
 */
static void stops_forget(struct away *a)
{
	const unsigned int enough = 6 * a->agent->config->heartbeat / STOPS_WATCH_MS + 1;

	if (a->state != AWAY_LINKED || !a->told_stopped || a->stopped_by_us || a->stopped_there ||
	    evbuffer_get_length(a->route.to_peer))
		a->runs = 0;
	else if (a->runs++ >= enough)
		stops_set(a, false);
}

static void stops_tell(struct away *a)
{
	uint8_t payload[4];

	a->tells_stopped = false;
	if (a->state != AWAY_LINKED)
		return;
	a->told_stopped = true;
	frame_put_u32(payload, a->stopped_by_us);
	route_tell_peer(&a->route, FRAME_PAUSED, payload, sizeof(payload));
}

static void stops_tell_all(struct agent *agent)
{
	const bool kept = stops_is_kept(agent->aways->stops);

	for (struct away *a = agent->aways->list; a; a = a->next)
		if (a->tells_stopped && (!a->stopped_by_us || kept))
			stops_tell(a);
}

/*
 * SIGSTOP cannot be caught, and no descriptor reports a stop. So one timer checks the states of all
 * stubs while a task is away. The executor waits for a stopped one for a day: so the file has it
 * before the executor is told, for the case that this agent and the stub are killed then.
 */
static void stops_on_watch(evutil_socket_t fd, short what, void *arg)
{
	struct agent *agent = arg;
	struct stops *all = agent->aways->stops;

	for (struct away *a = agent->aways->list; a; a = a->next) {
		stops_look(a);
		stops_forget(a);
	}
	if (clock_us() >= all->save_after)
		stops_save(agent);
	stops_tell_all(agent);
}

int stops_watch(struct agent *agent, bool any)
{
	struct stops *all = agent->aways->stops;

	stops_save(agent);
	return any ? clock_arm(all->watch, STOPS_WATCH_MS) : event_del(all->watch);
}

int stops_init(struct agent *agent, stops_ended_fn ended)
{
	struct stops *all = calloc(1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	agent->aways->stops = all;
	all->ended = ended;
	all->watch = event_new(agent->base, -1, EV_PERSIST, stops_on_watch, agent);
	all->check = event_new(agent->base, -1, EV_PERSIST, stops_on_check, agent);
	if (!all->watch || !all->check)
		return -ENOMEM; /* stops_exit() has the rest */
	stops_load(agent);
	stops_save(agent);
	return LIST_EMPTY(&all->left) || !clock_arm(all->check, STOPS_LEFT_S * 1000) ? 0 : -ENOMEM;
}

void stops_keep(struct agent *agent)
{
	/* also if it is being written: one is written after the other */
	agent->aways->stops->saving = false;
	stops_save(agent);
	agent->aways->stops->kept = true;
}

void stops_exit(struct agent *agent)
{
	struct stops *all = agent->aways->stops;

	if (!all)
		return;
	while (!LIST_EMPTY(&all->left))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it takes itself out of the list, through prev */
		stop_free(LIST_FIRST(&all->left));
	agent_free_event(&all->watch);
	agent_free_event(&all->check);
	free(all);
}
