// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/ehsched.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/process.h"
#include "cluster/shortid.h"
#include "ctl/sessions.h"
#include "ctl/socket.h"
#include "ctl/survey.h"
#include "ctl/viewer.h"
#include "eh/topology.h"
#include "executor/guest.h"
#include "home/record.h"
#include "net/link.h"
#include "net/names.h"
#include "net/peer.h"
#include "net/peers.h"
#include "node/kernel.h"
#include "node/local_task.h"
#include "wire/reason.h"

#define TASKS_ASK_MS 1000 /* how long an executor is waited for */

struct tasks_listing {
	struct agent *agent;
	json_t *tasks;
};

/* ---- those that run here and are this node's ---- */

static void tasks_add(json_t *tasks, const struct agent *agent, const char *id, pid_t pid,
		      uid_t uid, const char *command, const char *state, enum ehs_reason reason,
		      int64_t started)
{
	char when[32];

	json_array_append_new(tasks, json_pack("{s:s,s:i,s:s,s:s,s:s,s:i,s:s,s:s,s:s,s:f}", "id",
					       id, "pid", (int)pid, "home", agent->code, "executor",
					       agent->code, "command", command, "uid", (int)uid,
					       "state", state, "reason", reason_name(reason),
					       "started", clock_text(started, when), "elapsed",
					       clock_elapsed(started)));
}

static void tasks_add_managed(void *ctx, const struct kernel_task *t)
{
	const struct tasks_listing *to = ctx;
	struct agent *agent = to->agent;
	const struct placement *p = record_by_cookie(agent, t->id);
	enum ehs_reason reason = t->reason;
	char id[EH_CODE_TEXT + 24];

	/* placement.c and guest.c know more about these. */
	if (t->state == EHS_TASK_GUEST || (p && record_is_away(p)))
		return;
	/* The module accepts only some of the agent's reasons. */
	if (p && reason == EHS_REASON_NONE)
		reason = p->reason;
	snprintf(id, sizeof(id), "%s:%llu", agent->code, (unsigned long long)t->id);
	tasks_add(to->tasks, agent, id, t->pid, t->uid, t->command,
		  t->state == EHS_TASK_PENDING ? "waiting" : "running", reason,
		  t->started_ns / 1000000);
}

/* Placed without the module, and here. */
static void tasks_add_stayed(void *ctx, pid_t pid)
{
	const struct tasks_listing *to = ctx;
	const struct placement *p = record_by_pid(to->agent, pid);
	json_t *task;
	size_t i;

	if (!p || record_is_away(p))
		return;
	json_array_foreach(to->tasks, i, task)
		if (json_integer_value(json_object_get(task, "pid")) == pid)
			return;
	tasks_add(to->tasks, to->agent, p->id, pid, p->uid, p->command, "running", p->reason,
		  p->started);
}

/* ---- what all have ---- */

static const char *tasks_text(const json_t *task, const char *member)
{
	return json_string_value(json_object_get(task, member)) ?: "";
}

/* A member that the task has none of yet. */
static void tasks_set(json_t *task, const char *member, json_t *value)
{
	if (json_object_get(task, member))
		json_decref(value);
	else
		json_object_set_new(task, member, value);
}

static void tasks_complete(struct agent *agent, json_t *task, const json_t *ids)
{
	const pid_t pid = json_integer_value(json_object_get(task, "pid"));
	bool ours = !strcmp(tasks_text(task, "home"), agent->code);
	bool here = ours && !strcmp(tasks_text(task, "executor"), agent->code);
	char session[SESSION_NAME];
	struct process now;

	names_add(agent, task);
	json_object_set_new(task, "short", shortid_make(ids, tasks_text(task, "id")));
	tasks_set(task, "session",
		  json_string(ours && sessions_of(agent, pid, session) ? session : ""));
	if (here && !process_look(pid, &now)) {
		if ((now.state == 'T' || now.state == 't') &&
		    !strcmp(tasks_text(task, "state"), "running"))
			json_object_set_new(task, "state", json_string("stopped"));
		tasks_set(task, "cpu", json_real(now.cpu));
		tasks_set(task, "memory", json_integer(now.memory));
	}
	tasks_set(task, "cpu", json_null());
	tasks_set(task, "memory", json_null());
}

/* All tasks of all users. */
static json_t *tasks_all(struct agent *agent)
{
	json_t *tasks = json_array();
	struct tasks_listing listing = { agent, tasks };

	kernel_tasks(agent, tasks_add_managed, &listing);
	record_list(agent, tasks);
	guest_list(agent, tasks);
	local_task_each(agent, tasks_add_stayed, &listing);
	return tasks;
}

static json_t *tasks_ids(struct agent *agent, const json_t *tasks)
{
	json_t *ids = json_array(), *task;
	size_t i;

	record_ids(agent, ids);
	json_array_foreach((json_t *)tasks, i, task)
		json_array_append(ids, json_object_get(task, "id"));
	return ids;
}

json_t *tasks_list(struct agent *agent, const struct viewer *viewer)
{
	json_t *tasks = tasks_all(agent), *ids = tasks_ids(agent, tasks), *seen = json_array();
	json_t *task;
	size_t i;

	json_array_foreach(tasks, i, task) {
		if (!viewer_may_see(viewer, json_integer_value(json_object_get(task, "uid"))))
			continue;
		tasks_complete(agent, task, ids);
		json_array_append(seen, task);
	}
	json_decref(ids);
	json_decref(tasks);
	return seen;
}

static void tasks_survey(struct agent *agent, const struct viewer *viewer, const json_t *question,
			 viewer_told_fn told, void *ctx)
{
	json_t *tasks = tasks_list(agent, viewer), *task;
	size_t i;

	json_array_foreach(tasks, i, task) {
		const double elapsed = json_number_value(json_object_get(task, "elapsed"));

		viewer_add_user(task);
		/* clocks of nodes differ, so it is how long ago */
		json_object_set_new(task, "at", json_integer(-(json_int_t)(1000 * elapsed)));
	}
	told(ctx, tasks, false, NULL);
}

const struct survey_kind tasks_kind = { "tasks", tasks_survey, 1000, 1000, SURVEY_AGO, 0 };

unsigned int tasks_users(struct agent *agent, uid_t *uids, unsigned int most)
{
	json_t *tasks = tasks_all(agent), *task;
	unsigned int n = 0, k;
	size_t i;

	json_array_foreach(tasks, i, task) {
		const uid_t uid = json_integer_value(json_object_get(task, "uid"));

		for (k = 0; k < n && uids[k] != uid; k++)
			;
		if (k == n && n < most && !strcmp(tasks_text(task, "home"), agent->code))
			uids[n++] = uid;
	}
	json_decref(tasks);
	return n;
}

/* The code of the home that a text with a colon names; NULL: there is none. */
static const char *tasks_home(const struct agent *agent, const char *text)
{
	const char *colon = strrchr(text, ':');
	char name[ADDRESS_TEXT + ADDRESS_HOST_MAX], why[NAMES_WHY];
	struct peer *p;

	if (!colon || colon - text >= (ptrdiff_t)sizeof(name))
		return NULL;
	snprintf(name, sizeof(name), "%.*s", (int)(colon - text), text);
	p = names_find(agent, name, why);
	return p ? p->text : NULL;
}

int tasks_find(struct agent *agent, const char *text, char id[TASKS_ID], char why[TASKS_WHY])
{
	json_t *tasks = tasks_all(agent), *ids = tasks_ids(agent, tasks);
	const char *found;
	int err = shortid_find(ids, tasks_home(agent, text), text, &found, why, TASKS_WHY);

	if (!err)
		snprintf(id, TASKS_ID, "%s", found);
	json_decref(ids);
	json_decref(tasks);
	return err;
}

json_t *tasks_by_id(struct agent *agent, const char *id)
{
	json_t *tasks = tasks_all(agent), *task, *found = NULL;
	size_t i;

	json_array_foreach(tasks, i, task)
		if (!found && !strcmp(tasks_text(task, "id"), id))
			found = json_incref(task);
	json_decref(tasks);
	return found;
}

/* ---- what only the executors know ---- */

struct tasks_ask {
	struct ctl_conn *conn;
	json_t *tasks;
	unsigned int waits; /* answers to come, and one for the caller */
};

static void tasks_release(struct tasks_ask *a)
{
	if (--a->waits)
		return;
	ctl_reply(a->conn, json_pack("{s:i,s:o}", "version", 1, "tasks", a->tasks));
	free(a);
}

/* Ignores what the executor says of tasks that are not among these. */
static void tasks_take_usage(const json_t *by_id, const json_t *used)
{
	const char *members[] = { "cpu", "memory" };
	json_t *task = json_object_get(by_id, tasks_text(used, "id"));

	for (int m = 0; task && m < 2; m++)
		if (json_is_number(json_object_get(used, members[m])))
			json_object_set(task, members[m], json_object_get(used, members[m]));
}

static void tasks_on_guests(void *ctx, int status, const json_t *reply)
{
	struct tasks_ask *a = ctx;
	json_t *used, *task, *by_id = json_object();
	size_t i;

	/* A list may be as long as an answer. */
	json_array_foreach(a->tasks, i, task)
		json_object_set(by_id, tasks_text(task, "id"), task);
	if (status == 200)
		json_array_foreach(json_object_get(reply, "tasks"), i, used)
			tasks_take_usage(by_id, used);
	json_decref(by_id);
	tasks_release(a);
}

/* Whether one of the tasks is this node's and runs there. */
static bool tasks_are_at(const struct tasks_ask *a, const struct peer *p)
{
	json_t *task;
	size_t i;

	json_array_foreach(a->tasks, i, task)
		if (!strcmp(tasks_text(task, "executor"), p->text) &&
		    !strcmp(tasks_text(task, "home"), p->agent->code))
			return true;
	return false;
}

void tasks_request(struct ctl_conn *c, const json_t *request)
{
	struct tasks_ask *a = malloc(sizeof(*a));
	struct agent *agent = ctl_agent(c);
	struct viewer viewer;
	struct peer *p;

	if (!a) {
		ctl_reply(c, NULL);
		return;
	}
	viewer_local(&viewer, c);
	*a = (struct tasks_ask){ c, tasks_list(agent, &viewer), 1 };
	for (p = peers_next(agent, NULL); p; p = peers_next(agent, p)) {
		if (p->self || !peer_is_up(p) || !tasks_are_at(a, p))
			continue;
		a->waits++;
		if (link_request(p, "/v1/guests", NULL, TASKS_ASK_MS, tasks_on_guests, a))
			a->waits--;
	}
	tasks_release(a);
}
