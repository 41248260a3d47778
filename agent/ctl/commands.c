// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests of ehctl and their replies (docs/protocol.md, formats of `--json`). */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/agent.h"
#include "ctl/commands.h"
#include "base/clock.h"
#include "cluster/hierarchy.h"
#include "cluster/message.h"
#include "net/h2.h"
#include "cluster/join.h"
#include "node/kernel.h"
#include "cluster/leave.h"
#include "node/node.h"
#include "home/placement.h"
#include "wire/reason.h"
#include "home/record.h"
#include "cluster/report.h"
#include "home/counters.h"

#define API_ASK_MS 2000 /* others' answers are waited for so long */

json_t *api_error(const char *what, const char *why, bool usage)
{
	return json_pack("{s:{s:s,s:s,s:b}}", "error", "what", what, "why", why, "usage",
			 (int)usage);
}

void api_event(const char *event, json_t *members)
{
	char when[32];

	if (!members)
		return;
	json_object_set_new(members, "time", json_string(clock_text(clock_wall_ms(), when)));
	json_object_set_new(members, "event", json_string(event));
	local_broadcast(members);
	json_decref(members);
}

/* ---- status ---- */

static int api_by_code(const void *a, const void *b)
{
	const struct eh_topology *t = &agent.config->topology;
	struct eh_code x = { 0 }, y = { 0 };

	eh_code_parse(t, json_string_value(json_object_get(*(json_t *const *)a, "code")) ?: "0",
		      &x);
	eh_code_parse(t, json_string_value(json_object_get(*(json_t *const *)b, "code")) ?: "0",
		      &y);
	if (x.level != y.level)
		return x.level > y.level ? -1 : 1;
	return x.index < y.index ? -1 : x.index > y.index;
}

/* A new array of the same, higher levels first, each in order. */
static json_t *api_sorted(const json_t *list)
{
	size_t n = json_array_size(list);
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
	json_t **items = malloc((n + 1) * sizeof(*items)), *sorted = json_array();

	for (size_t i = 0; items && i < n; i++)
		items[i] = json_array_get(list, i);
	if (items)
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): the same */
		qsort(items, n, sizeof(*items), api_by_code);
	for (size_t i = 0; i < n; i++)
		json_array_append(sorted, items ? items[i] : json_array_get(list, i));
	free(items);
	return sorted;
}

static json_t *api_messages(void)
{
	const struct control_counts *counts = control_counts();
	json_t *sent = json_object(), *received = json_object();

	for (int type = EH_MSG_REPORT; type < EH_MSG_TYPES; type++) {
		json_object_set_new(sent, eh_message_name(type), json_integer(counts->sent[type]));
		json_object_set_new(received, eh_message_name(type),
				    json_integer(counts->received[type]));
	}
	return json_pack("{s:o,s:o}", "sent", sent, "received", received);
}

static void api_on_found(void *ctx, json_t *found)
{
	json_t *status = NULL;

	if (found)
		status = json_pack(
			"{s:i,s:s,s:{s:i,s:i},s:O,s:s,s:s,s:o,s:o,s:o}", "version", 1, "self",
			agent.code, "topology", "n", (int)agent.config->topology.n, "l",
			(int)agent.config->topology.l, "epoch", json_object_get(found, "epoch"),
			"controller", peer_code(control_controller()), "top",
			peer_code(control_top()), "nodes",
			api_sorted(json_object_get(found, "nodes")), "groups",
			api_sorted(json_object_get(found, "groups")), "messages", api_messages());
	json_decref(found);
	if (status)
		tally_add(status);
	local_reply(ctx, status);
}

static void api_do_status(struct local_conn *c, const json_t *request)
{
	gather_all(api_on_found, c);
}

/* ---- tasks and why ---- */

static void api_add_task(void *ctx, const struct knl_task *t)
{
	const char *state = t->state == EHS_TASK_PENDING ? "waiting" : "running";
	const struct placement *p = record_by_cookie(t->id);
	enum ehs_reason reason = t->reason;
	char id[EH_CODE_TEXT + 24], when[32];

	/* who they are and where is known better by placement.c and guest.c */
	if (t->state == EHS_TASK_GUEST || (p && record_is_away(p)))
		return;
	/* the kernel takes only some of the agent's reasons */
	if (p && reason == EHS_REASON_NONE)
		reason = placement_reason(p);
	snprintf(id, sizeof(id), "%s:%llu", agent.code, (unsigned long long)t->id);
	json_array_append_new(ctx, json_pack("{s:s,s:i,s:s,s:s,s:s,s:i,s:s,s:s,s:s}", "id", id,
					     "pid", (int)t->pid, "home", agent.code, "executor",
					     agent.code, "command", t->command, "uid", (int)t->uid,
					     "state", state, "reason", reason_name(reason),
					     "started", clock_text(t->started_ns / 1000000, when)));
}

static json_t *api_tasks(void)
{
	json_t *tasks = json_array();

	knl_tasks(api_add_task, tasks);
	record_list(tasks);
	guest_list(tasks);
	return tasks;
}

static void api_do_tasks(struct local_conn *c, const json_t *request)
{
	local_reply(c, json_pack("{s:i,s:o}", "version", 1, "tasks", api_tasks()));
}

/* A task that is there now. What the kernel decided alone has no steps, only a reason. */
static bool api_is_task(const json_t *task, const char *id, long pid)
{
	return pid ? json_integer_value(json_object_get(task, "pid")) == pid
		   : !strcmp(json_string_value(json_object_get(task, "id")) ?: "", id);
}

static json_t *api_why_task(const char *id, long pid)
{
	json_t *tasks = api_tasks(), *task, *found = NULL;
	enum ehs_reason reason = EHS_REASON_NONE;
	const char *name;
	size_t i;

	json_array_foreach(tasks, i, task) {
		if (!api_is_task(task, id, pid))
			continue;
		found = record_why(json_string_value(json_object_get(task, "id")) ?: "");
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

static void api_do_why(struct local_conn *c, const json_t *request)
{
	const char *id = json_string_value(json_object_get(request, "id"));
	char *end;
	json_t *reply;
	long pid;

	if (!id) {
		local_reply(c, api_error("id", "missing", true));
		return;
	}
	/* a bare number is a process, whose id is looked up */
	pid = strtol(id, &end, 10);
	if (*end)
		pid = 0;
	reply = record_why(id);
	if (!reply)
		reply = api_why_task(id, pid);
	if (!reply && pid)
		reply = record_why_pid(pid);
	local_reply(c, reply
			       ?: api_error(id,
					    "not known on this node: it is another node's, or more "
					    "than 1024 placements ago (`ehctl tasks` lists ids)",
					    false));
}

/* ---- run ---- */

/* The pid is the caller's only while it lives; then /proc shows its user. */
static bool api_lives(const struct local_conn *c)
{
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)local_pid(c));
	return local_pid(c) > 0 && !stat(path, &st) &&
	       (st.st_uid == local_uid(c) || !local_uid(c) || !st.st_uid);
}

static void api_do_run(struct local_conn *c, const json_t *request)
{
	const char *wish = json_string_value(json_object_get(request, "name"));
	const char *view = json_string_value(json_object_get(request, "view"));
	bool retry = json_is_true(json_object_get(request, "retry"));
	char name[64] = "";
	int err;

	if (view && view_parse(view) == VIEW_UNSET) {
		local_reply(c, api_error("view", "it is shared, home or auto", true));
		return;
	}
	if (!agent.module || cgroup_managed_fd() < 0) {
		local_reply(c,
			    json_pack("{s:i,s:s,s:b}", "version", 1, "session", "", "managed", 0));
		return;
	}
	if (!api_lives(c)) {
		local_reply(c, api_error("run",
					 "the agent cannot see your process: it is in another pid "
					 "namespace",
					 false));
		return;
	}
	err = cgroup_session(local_pid(c), wish, retry, view ? view_parse(view) : VIEW_UNSET, name);
	if (err) {
		local_reply(c, api_error(wish ?: "session", strerror(-err), err == -EINVAL));
		return;
	}
	/* its next exec is the program that the user wants to see running here */
	err = knl_bypass(local_pid(c));
	if (err)
		log_warning("process %d: its first program may be placed, too: %s",
			    (int)local_pid(c), strerror(-err));
	local_reply(c, json_pack("{s:i,s:s,s:b}", "version", 1, "session", name, "managed", 1));
}

/* ---- set and drain ---- */

struct api_setting {
	const char *name;
	size_t at;
	uint64_t min, max;
};

#define API_SETTING(name, member, min, max)                            \
	{                                                              \
		name, offsetof(struct node_settings, member), min, max \
	}

static const struct api_setting api_settings[] = {
	API_SETTING("threshold", threshold, 0, EHS_MAX_LOAD),
	API_SETTING("length", length, 0, EHS_MAX_LOAD),
	API_SETTING("weight", weight, 1, 1000000),
	API_SETTING("time-limit", time_limit, 1, EHS_MAX_TIME_LIMIT),
	API_SETTING("dwell", dwell, 0, 60000),
};

/* NULL, or the error to reply. */
static json_t *api_take_setting(struct node_settings *set, const char *name, const json_t *value)
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
		return api_error(name, "not runnable, tasks or cpu", true);
	}
	for (size_t i = 0; i < sizeof(api_settings) / sizeof(api_settings[0]); i++) {
		const struct api_setting *s = &api_settings[i];
		json_int_t n = json_integer_value(value);

		if (strcmp(name, s->name))
			continue;
		if (!json_is_integer(value) || n < 0 || (uint64_t)n < s->min ||
		    (uint64_t)n > s->max) {
			snprintf(why, sizeof(why), "not a number from %llu to %llu",
				 (unsigned long long)s->min, (unsigned long long)s->max);
			return api_error(name, why, true);
		}
		*(uint32_t *)((char *)set + s->at) = n;
		return NULL;
	}
	return api_error(name,
			 "no such setting (threshold, length, load-index, weight, time-limit, "
			 "dwell)",
			 true);
}

static void api_do_set(struct local_conn *c, const json_t *request)
{
	struct node_settings set = *node_settings();
	json_t *error = NULL, *value;
	const char *name;
	char why[160];
	int n = 0;

	json_object_foreach((json_t *)request, name, value) {
		if (!strcmp(name, "command") || error)
			continue;
		error = api_take_setting(&set, name, value);
		n++;
	}
	if (!error && !n)
		error = api_error("set", "nothing to set", true);
	if (!error && node_set(&set, why))
		error = api_error("set", why, false);
	if (error) {
		local_reply(c, error);
		return;
	}
	control_threshold_set();
	local_reply(c, json_pack("{s:i}", "version", 1));
}

struct api_drain {
	struct local_conn *conn;
	struct peer *peer;
};

static void api_on_drained(void *ctx, int status, const json_t *reply)
{
	const char *why = json_string_value(json_object_get(reply, "error"));
	struct api_drain *d = ctx;

	if (!why)
		why = *d->peer->trouble ? d->peer->trouble : "its agent did not answer";
	local_reply(d->conn, status == 200 ? json_pack("{s:i}", "version", 1)
					   : api_error(peer_code(d->peer), why, false));
	free(d);
}

static void api_drain(struct local_conn *c, const json_t *request, bool draining)
{
	const char *code = json_string_value(json_object_get(request, "node"));
	struct peer *peer = code ? peer_by_text(code) : peer_self();
	json_t *body = json_pack("{s:b}", "draining", (int)draining);
	struct api_drain *d;
	int status = 200;

	if (!peer) {
		local_reply(c, api_error(code, "no such node in the configuration", true));
		json_decref(body);
		return;
	}
	if (peer->self) {
		json_decref(control_on_drain(peer, body, &status));
		json_decref(body);
		local_reply(c, json_pack("{s:i}", "version", 1));
		return;
	}
	d = malloc(sizeof(*d));
	if (!d) {
		json_decref(body);
		local_reply(c, NULL);
		return;
	}
	*d = (struct api_drain){ c, peer };
	if (h2_request(peer, "/v1/drain", body, API_ASK_MS, api_on_drained, d)) {
		free(d);
		local_reply(c, NULL);
	}
}

static void api_do_drain(struct local_conn *c, const json_t *request)
{
	api_drain(c, request, true);
}

static void api_do_undrain(struct local_conn *c, const json_t *request)
{
	api_drain(c, request, false);
}

/* ---- the table ---- */

static void api_do_watch(struct local_conn *c, const json_t *request)
{
	local_watch(c);
}

static void api_do_leave(struct local_conn *c, const json_t *request)
{
	leave_start(json_is_true(json_object_get(request, "now")));
	local_reply(c, json_pack("{s:i,s:i,s:i}", "version", 1, "guests", (int)guest_count(),
				 "away", (int)handoff_count()));
}

static void api_do_doctor(struct local_conn *c, const json_t *request)
{
	local_reply(c, doctor_report());
}

static const struct api_command {
	const char *name;
	bool privileged;
	void (*serve)(struct local_conn *c, const json_t *request);
} api_commands[] = {
	{ "status", false, api_do_status },  { "nodes", false, api_do_status },
	{ "tree", false, api_do_status },    { "tasks", false, api_do_tasks },
	{ "why", false, api_do_why },	     { "run", false, api_do_run },
	{ "set", true, api_do_set },	     { "drain", true, api_do_drain },
	{ "undrain", true, api_do_undrain }, { "watch", false, api_do_watch },
	{ "doctor", false, api_do_doctor },  { "leave", true, api_do_leave },
};

void api_request(struct local_conn *c, const json_t *request)
{
	const char *name = json_string_value(json_object_get(request, "command"));

	if (!agent.member && (!name || strcmp(name, "doctor"))) {
		local_reply(c, api_error("this host has no place in the cluster yet",
					 join_trouble(), false));
		return;
	}
	for (size_t i = 0; name && i < sizeof(api_commands) / sizeof(api_commands[0]); i++) {
		if (strcmp(name, api_commands[i].name))
			continue;
		if (api_commands[i].privileged && local_uid(c) && local_uid(c) != geteuid())
			local_reply(c, api_error(name, "only root may do that", false));
		else
			api_commands[i].serve(c, request);
		return;
	}
	local_reply(c, api_error(name ?: "command",
				 name ? "this agent does not know that command" : "missing", true));
}
