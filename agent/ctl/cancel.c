// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/cancel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/agent.h"
#include "base/log.h"
#include "base/process.h"
#include "ctl/rights.h"
#include "ctl/sessions.h"
#include "ctl/socket.h"
#include "ctl/tasks.h"
#include "executor/guest.h"
#include "home/away.h"
#include "home/record.h"

#define CANCEL_LIST 300 /* bytes of the names of sessions in a message */

static const char cancel_not_yours[] =
	"it belongs to another user: only that user and root may end it";

static void cancel_add(json_t *processes, pid_t pid)
{
	struct process now;

	if (!process_look(pid, &now))
		json_array_append_new(processes, json_pack("{s:i,s:I}", "pid", (int)pid, "start",
							   (json_int_t)now.start));
}

static void cancel_answer(struct ctl_conn *c, const char *what, const char *name, json_t *processes,
			  bool killed)
{
	ctl_reply(c, json_pack("{s:i,s:s,s:s,s:o,s:b,s:i}", "version", 1, "what", what, "name",
			       name, "processes", processes, "killed", (int)killed, "caller",
			       (int)ctl_pid(c)));
}

/* Whether the caller's signals may end it. Members of `admin-group` see it, and have no such right. */
static bool cancel_may_signal(const struct ctl_conn *c, uid_t uid)
{
	return ctl_uid(c) == uid || ctl_is_admin(c);
}

/* The agent gives up what is on its way between two nodes: for that it needs no right of the task's user. */
static void cancel_for(struct ctl_conn *c, const char *text, const char *id)
{
	struct agent *agent = ctl_agent(c);
	int err = guest_cancel(agent, id);

	if (err == -ENOENT)
		err = away_cancel(agent, id);
	if (!err)
		log_info("%s was ended for user %u, of admin-group", id, (unsigned int)ctl_uid(c));
	if (!err)
		cancel_answer(c, "task", id, json_array(), true);
	else if (err == -EAGAIN)
		ctl_reply(c, ctl_error(text, "it is about to start: try again", false));
	else
		ctl_reply(c,
			  ctl_error(text, "it runs at its home: only its user and root may end it",
				    false));
}

/* ---- a task ---- */

static void cancel_task(struct ctl_conn *c, const char *text)
{
	struct agent *agent = ctl_agent(c);
	char id[TASKS_ID], why[TASKS_WHY];
	int err = tasks_find(agent, text, id, why);
	const struct placement *p;
	json_t *task, *processes;
	uid_t uid;

	if (err == -ENOTUNIQ) {
		ctl_reply(c, ctl_error(text, why, true));
		return;
	}
	if (err) {
		ctl_reply(c, ctl_error(text,
				       "no such task on this node; `ehctl tasks` lists them, and "
				       "each ends at its home or where it runs",
				       false));
		return;
	}
	task = tasks_by_id(agent, id);
	p = record_by_id(agent, id);
	uid = task ? json_integer_value(json_object_get(task, "uid")) : p ? p->uid : 0;
	if (!ctl_may_see(c, uid)) {
		ctl_reply(c, ctl_error(text, cancel_not_yours, false));
	} else if (!task) {
		ctl_reply(c, ctl_error(text, "it has ended already", false));
	} else if (!cancel_may_signal(c, uid)) {
		cancel_for(c, text, id);
	} else {
		processes = json_array();
		cancel_add(processes, json_integer_value(json_object_get(task, "pid")));
		cancel_answer(c, "task", id, processes, false);
	}
	json_decref(task);
}

/* ---- a session ---- */

/* Whether `name` is "WISH", or "WISH.PID.NUMBER" in full. */
static bool cancel_is(const char *session, const char *name)
{
	size_t n = strlen(name);
	const char *rest = session + n;

	if (strncmp(session, name, n))
		return false;
	if (!*rest)
		return true;
	if (*rest != '.' || strspn(rest, ".0123456789") != strlen(rest))
		return false;
	return strchr(rest + 1, '.') && !strchr(strchr(rest + 1, '.') + 1, '.');
}

/* The user of a process; of one that has ended, nobody. */
static bool cancel_may(const struct ctl_conn *c, pid_t pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return !stat(path, &st) && cancel_may_signal(c, st.st_uid);
}

/* Those of the caller, and how many others there are. */
static json_t *cancel_processes(const struct ctl_conn *c, const char *session, unsigned int *others)
{
	json_t *pids = json_array(), *processes = json_array(), *pid;
	size_t i;

	*others = 0;
	sessions_processes(ctl_agent(c), session, pids);
	json_array_foreach(pids, i, pid) {
		if (cancel_may(c, json_integer_value(pid)))
			cancel_add(processes, json_integer_value(pid));
		else
			++*others;
	}
	json_decref(pids);
	return processes;
}

static void cancel_session(struct ctl_conn *c, const char *name)
{
	json_t *names = json_array(), *item, *processes, *found = NULL;
	char list[CANCEL_LIST + 64], session[SESSION_NAME] = "";
	unsigned int others, foreign = 0, count = 0;
	size_t i, used = 0;

	sessions_list(ctl_agent(c), names);
	json_array_foreach(names, i, item) {
		const char *full = json_string_value(item) ?: "";

		if (!cancel_is(full, name))
			continue;
		processes = cancel_processes(c, full, &others);
		if (!json_array_size(processes)) {
			foreign += others;
			json_decref(processes);
			continue;
		}
		if (used < CANCEL_LIST)
			used += snprintf(
				list + used, sizeof(list) - used, "%s%s",
				count ? ", " : "more than one session has this name: ", full);
		count++;
		json_decref(found);
		found = processes;
		snprintf(session, sizeof(session), "%s", full);
	}
	if (count == 1) {
		cancel_answer(c, "session", session, json_incref(found), false);
	} else if (count) {
		ctl_reply(c, ctl_error(name, list, true));
	} else {
		ctl_reply(c, ctl_error(name,
				       foreign ? cancel_not_yours
					       : "no such session on this node, nor an ID of a "
						 "task; `ehctl tasks` lists them",
				       false));
	}
	json_decref(found);
	json_decref(names);
}

void cancel_request(struct ctl_conn *c, const json_t *request)
{
	const char *text = json_string_value(json_object_get(request, "id"));

	if (!text || !*text)
		ctl_reply(c, ctl_error("id", "missing", true));
	else if (strchr(text, ':'))
		cancel_task(c, text);
	else
		cancel_session(c, text);
}
