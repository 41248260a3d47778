// SPDX-License-Identifier: GPL-2.0-or-later
/* The requests of ehctl and their replies (docs/protocol.md, formats of `--json`). */

#include "ctl/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/ehsched.h>
#include <jansson.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "cluster/gather.h"
#include "cluster/hierarchy.h"
#include "cluster/join.h"
#include "cluster/leave.h"
#include "cluster/message.h"
#include "ctl/doctor.h"
#include "ctl/run.h"
#include "ctl/socket.h"
#include "eh/member.h"
#include "eh/topology.h"
#include "executor/guest.h"
#include "executor/reserve.h"
#include "home/counters.h"
#include "home/away.h"
#include "home/placement.h"
#include "home/record.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/peers.h"
#include "node/cgroup.h"
#include "node/kernel.h"
#include "node/node.h"
#include "wire/reason.h"
#include "wire/view.h"

#define COMMANDS_ASK_MS 2000 /* how long answers of others are waited for */

/* ---- status ---- */

static int commands_by_code(const void *a, const void *b, void *topology)
{
	const struct eh_topology *t = topology;
	struct eh_code x = { 0 }, y = { 0 };

	eh_code_parse(t, json_string_value(json_object_get(*(json_t *const *)a, "code")) ?: "0",
		      &x);
	eh_code_parse(t, json_string_value(json_object_get(*(json_t *const *)b, "code")) ?: "0",
		      &y);
	if (x.level != y.level)
		return x.level > y.level ? -1 : 1;
	return x.index < y.index ? -1 : x.index > y.index;
}

/* A new array with the same items: higher levels first, each in the order of codes. */
static json_t *commands_sorted(struct eh_topology *topology, const json_t *list)
{
	size_t n = json_array_size(list);
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
	json_t **items = malloc((n + 1) * sizeof(*items)), *sorted = json_array();

	for (size_t i = 0; items && i < n; i++)
		items[i] = json_array_get(list, i);
	if (items)
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): the same */
		qsort_r(items, n, sizeof(*items), commands_by_code, topology);
	for (size_t i = 0; i < n; i++)
		json_array_append(sorted, items ? items[i] : json_array_get(list, i));
	free(items);
	return sorted;
}

static json_t *commands_messages(struct agent *agent)
{
	const struct hierarchy_counts *counts = hierarchy_counts(agent);
	json_t *sent = json_object(), *received = json_object();

	for (int type = EH_MSG_REPORT; type < EH_MSG_TYPES; type++) {
		json_object_set_new(sent, eh_message_name(type), json_integer(counts->sent[type]));
		json_object_set_new(received, eh_message_name(type),
				    json_integer(counts->received[type]));
	}
	return json_pack("{s:o,s:o}", "sent", sent, "received", received);
}

static void commands_on_found(void *ctx, json_t *found)
{
	struct agent *agent = ctl_agent(ctx);
	json_t *status = NULL;

	if (found)
		status = json_pack(
			"{s:i,s:s,s:{s:i,s:i},s:O,s:s,s:s,s:o,s:o,s:o}", "version", 1, "self",
			agent->code, "topology", "n", (int)agent->config->topology.n, "l",
			(int)agent->config->topology.l, "epoch", json_object_get(found, "epoch"),
			"controller", peer_code(hierarchy_controller(agent)), "top",
			peer_code(hierarchy_top(agent)), "nodes",
			commands_sorted(&agent->config->topology, json_object_get(found, "nodes")),
			"groups",
			commands_sorted(&agent->config->topology, json_object_get(found, "groups")),
			"messages", commands_messages(agent));
	json_decref(found);
	if (status)
		counters_add(agent, status);
	ctl_reply(ctx, status);
}

static void commands_do_status(struct ctl_conn *c, const json_t *request)
{
	struct agent *agent = ctl_agent(c);

	gather_all(agent, commands_on_found, c);
}

/* ---- tasks and why ---- */

struct commands_listing {
	struct agent *agent;
	json_t *tasks;
};

static void commands_add_task(void *ctx, const struct kernel_task *t)
{
	const struct commands_listing *to = ctx;
	struct agent *agent = to->agent;
	const char *state = t->state == EHS_TASK_PENDING ? "waiting" : "running";
	const struct placement *p = record_by_cookie(agent, t->id);
	enum ehs_reason reason = t->reason;
	char id[EH_CODE_TEXT + 24], when[32];

	/* placement.c and guest.c know more about these. */
	if (t->state == EHS_TASK_GUEST || (p && record_is_away(p)))
		return;
	/* The module accepts only some of the agent's reasons. */
	if (p && reason == EHS_REASON_NONE)
		reason = placement_reason(p);
	snprintf(id, sizeof(id), "%s:%llu", agent->code, (unsigned long long)t->id);
	json_array_append_new(to->tasks,
			      json_pack("{s:s,s:i,s:s,s:s,s:s,s:i,s:s,s:s,s:s}", "id", id, "pid",
					(int)t->pid, "home", agent->code, "executor", agent->code,
					"command", t->command, "uid", (int)t->uid, "state", state,
					"reason", reason_name(reason), "started",
					clock_text(t->started_ns / 1000000, when)));
}

/* Those that the caller may see. */
static json_t *commands_tasks(const struct ctl_conn *c)
{
	struct agent *agent = ctl_agent(c);
	json_t *tasks = json_array(), *seen = json_array(), *task;
	struct commands_listing listing = { agent, tasks };
	size_t i;

	kernel_tasks(agent, commands_add_task, &listing);
	record_list(agent, tasks);
	guest_list(agent, tasks);
	json_array_foreach(tasks, i, task)
		if (ctl_may_see(c, json_integer_value(json_object_get(task, "uid"))))
			json_array_append(seen, task);
	json_decref(tasks);
	return seen;
}

static void commands_do_tasks(struct ctl_conn *c, const json_t *request)
{
	ctl_reply(c, json_pack("{s:i,s:o}", "version", 1, "tasks", commands_tasks(c)));
}

/* NULL: there is none, or it is nothing for the caller. */
static json_t *commands_why_record(const struct ctl_conn *c, const struct placement *p)
{
	return p && ctl_may_see(c, p->uid) ? record_why(p) : NULL;
}

/* Looks at a current task. What the module decided alone has a reason but no steps. */
static bool commands_is_task(const json_t *task, const char *id, long pid)
{
	return pid ? json_integer_value(json_object_get(task, "pid")) == pid
		   : !strcmp(json_string_value(json_object_get(task, "id")) ?: "", id);
}

static json_t *commands_why_task(const struct ctl_conn *c, const char *id, long pid)
{
	json_t *tasks = commands_tasks(c), *task, *found = NULL;
	enum ehs_reason reason = EHS_REASON_NONE;
	const char *name;
	size_t i;

	json_array_foreach(tasks, i, task) {
		if (!commands_is_task(task, id, pid))
			continue;
		found = commands_why_record(
			c, record_by_id(ctl_agent(c),
					json_string_value(json_object_get(task, "id")) ?: ""));
		if (found)
			break;
		name = json_string_value(json_object_get(task, "reason"));
		if (name)
			reason_parse(name, &reason);
		found = json_pack("{s:i,s:O,s:O,s:O,s:O,s:s,s:s,s:[]}", "version", 1, "id",
				  json_object_get(task, "id"), "command",
				  json_object_get(task, "command"), "home",
				  json_object_get(task, "home"), "executor",
				  json_object_get(task, "executor"), "reason", name ?: "none",
				  "text", reason_text(reason), "steps");
		break;
	}
	json_decref(tasks);
	return found;
}

static void commands_do_why(struct ctl_conn *c, const json_t *request)
{
	struct agent *agent = ctl_agent(c);
	const char *id = json_string_value(json_object_get(request, "id"));
	char *end;
	json_t *reply;
	long pid;

	if (!id) {
		ctl_reply(c, ctl_error("id", "missing", true));
		return;
	}
	/* A bare number is a pid. */
	pid = strtol(id, &end, 10);
	if (*end)
		pid = 0;
	reply = commands_why_record(c, record_by_id(agent, id));
	if (!reply)
		reply = commands_why_task(c, id, pid);
	if (!reply && pid)
		reply = commands_why_record(c, record_by_pid(agent, pid));
	ctl_reply(c, reply
			     ?: ctl_error(id,
					  "not known on this node: it belongs to another node or "
					  "user, or is older than the last 1024 placements "
					  "(`ehctl tasks` lists ids)",
					  false));
}

/* ---- set and drain ---- */

struct commands_setting {
	const char *name;
	size_t at;
	uint64_t min, max;
};

#define COMMANDS_SETTING(name, member, min, max)                       \
	{                                                              \
		name, offsetof(struct node_settings, member), min, max \
	}

static const struct commands_setting commands_settings[] = {
	COMMANDS_SETTING("threshold", threshold, 0, EHS_MAX_LOAD),
	COMMANDS_SETTING("length", length, 0, EHS_MAX_LOAD),
	COMMANDS_SETTING("weight", weight, 1, 1000000),
	COMMANDS_SETTING("time-limit", time_limit, 1, EHS_MAX_TIME_LIMIT),
	COMMANDS_SETTING("dwell", dwell, 0, 60000),
};

/* Returns NULL, or the error to reply. */
static json_t *commands_take_setting(struct node_settings *set, const char *name,
				     const json_t *value)
{
	static const char *const indexes[] = { "runnable", "tasks", "cpu" };
	char why[96];

	if (!strcmp(name, "load-index")) {
		const char *text = json_string_value(value);

		for (unsigned int i = 0; text && i < 3; i++) {
			if (strcmp(text, indexes[i]))
				continue;
			set->index = i;
			return NULL;
		}
		return ctl_error(name, "must be runnable, tasks or cpu", true);
	}
	for (size_t i = 0; i < sizeof(commands_settings) / sizeof(commands_settings[0]); i++) {
		const struct commands_setting *s = &commands_settings[i];
		json_int_t n = json_integer_value(value);

		if (strcmp(name, s->name))
			continue;
		if (!json_is_integer(value) || n < 0 || (uint64_t)n < s->min ||
		    (uint64_t)n > s->max) {
			snprintf(why, sizeof(why), "must be a number from %llu to %llu",
				 (unsigned long long)s->min, (unsigned long long)s->max);
			return ctl_error(name, why, true);
		}
		*(uint32_t *)((char *)set + s->at) = n;
		return NULL;
	}
	return ctl_error(name,
			 "no such setting (threshold, length, load-index, weight, time-limit, "
			 "dwell)",
			 true);
}

static void commands_do_set(struct ctl_conn *c, const json_t *request)
{
	struct agent *agent = ctl_agent(c);
	struct node_settings set = *node_settings(agent);
	json_t *error = NULL, *value;
	const char *name;
	char why[160];
	int n = 0;

	json_object_foreach((json_t *)request, name, value) {
		if (!strcmp(name, "command") || error)
			continue;
		error = commands_take_setting(&set, name, value);
		n++;
	}
	if (!error && !n)
		error = ctl_error("set", "nothing to set", true);
	if (!error && node_set(agent, &set, why))
		error = ctl_error("set", why, false);
	if (error) {
		ctl_reply(c, error);
		return;
	}
	ctl_reply(c, json_pack("{s:i}", "version", 1));
}

struct commands_drain {
	struct ctl_conn *conn;
	struct peer *peer;
};

static void commands_on_drained(void *ctx, int status, const json_t *reply)
{
	const char *why = json_string_value(json_object_get(reply, "error"));
	struct commands_drain *d = ctx;

	if (!why)
		why = *d->peer->trouble ? d->peer->trouble : "the agent there did not answer";
	ctl_reply(d->conn, status == 200 ? json_pack("{s:i}", "version", 1)
					 : ctl_error(peer_code(d->peer), why, false));
	free(d);
}

static void commands_drain(struct ctl_conn *c, const json_t *request, bool draining)
{
	struct agent *agent = ctl_agent(c);
	const char *code = json_string_value(json_object_get(request, "node"));
	struct peer *peer = code ? peers_by_text(agent, code) : peers_self(agent);
	json_t *body = json_pack("{s:b}", "draining", (int)draining);
	struct commands_drain *d;
	int status = 200;

	if (!peer) {
		ctl_reply(c, ctl_error(code, "no such node in the cluster", true));
		json_decref(body);
		return;
	}
	if (peer->self) {
		json_decref(hierarchy_on_drain(agent, peer, body, &status));
		json_decref(body);
		ctl_reply(c, json_pack("{s:i}", "version", 1));
		return;
	}
	d = malloc(sizeof(*d));
	if (!d) {
		json_decref(body);
		ctl_reply(c, NULL);
		return;
	}
	*d = (struct commands_drain){ c, peer };
	if (link_request(peer, "/v1/drain", body, COMMANDS_ASK_MS, commands_on_drained, d)) {
		free(d);
		ctl_reply(c, NULL);
	}
}

static void commands_do_drain(struct ctl_conn *c, const json_t *request)
{
	commands_drain(c, request, true);
}

static void commands_do_undrain(struct ctl_conn *c, const json_t *request)
{
	commands_drain(c, request, false);
}

/* ---- the table ---- */

static void commands_do_watch(struct ctl_conn *c, const json_t *request)
{
	ctl_watch(c);
}

static void commands_do_leave(struct ctl_conn *c, const json_t *request)
{
	bool now = json_is_true(json_object_get(request, "now"));
	struct agent *agent = ctl_agent(c);
	json_t *reply = json_pack("{s:i,s:i,s:i}", "version", 1, "guests",
				  (int)reserve_guests(agent), "away", (int)away_count(agent));

	leave_start(agent, now);
	/* Else they would wait for an agent that does not come. */
	if (now) {
		guest_end_all(agent);
		away_end_all(agent);
	}
	ctl_reply(c, reply);
}

static void commands_do_reload(struct ctl_conn *c, const json_t *request)
{
	struct agent *agent = ctl_agent(c);
	char *why = NULL;

	if (agent->reload(agent, &why)) {
		if (why)
			why[strcspn(why, "\n")] = '\0';
		ctl_reply(c, ctl_error("the current configuration is kept", why ?: "out of memory",
				       false));
	} else {
		ctl_reply(c, json_pack("{s:i}", "version", 1));
	}
	free(why);
}

static void commands_do_doctor(struct ctl_conn *c, const json_t *request)
{
	struct agent *agent = ctl_agent(c);

	ctl_reply(c, doctor_report(agent));
}

static const struct commands_command {
	const char *name;
	bool privileged;
	void (*serve)(struct ctl_conn *c, const json_t *request);
} commands_commands[] = {
	{ "status", false, commands_do_status },  { "nodes", false, commands_do_status },
	{ "tree", false, commands_do_status },	  { "tasks", false, commands_do_tasks },
	{ "why", false, commands_do_why },	  { "run", false, run_start },
	{ "set", true, commands_do_set },	  { "drain", true, commands_do_drain },
	{ "undrain", true, commands_do_undrain }, { "watch", false, commands_do_watch },
	{ "doctor", false, commands_do_doctor },  { "leave", true, commands_do_leave },
	{ "reload", true, commands_do_reload },
};

void commands_request(struct ctl_conn *c, const json_t *request)
{
	struct agent *agent = ctl_agent(c);
	const char *name = json_string_value(json_object_get(request, "command"));

	if (!agent->member && (!name || strcmp(name, "doctor"))) {
		ctl_reply(c, ctl_error("this host has not joined the cluster yet",
				       join_trouble(agent), false));
		return;
	}
	for (size_t i = 0; name && i < sizeof(commands_commands) / sizeof(commands_commands[0]);
	     i++) {
		if (strcmp(name, commands_commands[i].name))
			continue;
		if (commands_commands[i].privileged && !ctl_is_admin(c))
			ctl_reply(c, ctl_error(name, "permitted for root only", false));
		else
			commands_commands[i].serve(c, request);
		return;
	}
	ctl_reply(c, ctl_error(name ?: "command",
			       name ? "unknown to this version of the agent" : "missing", true));
}
