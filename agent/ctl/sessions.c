// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/sessions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/agent.h"
#include "base/process.h"
#include "node/cgroup.h"

#define SESSIONS_MAX 1024
#define SESSIONS_A_USER 256 /* but root: others get theirs */

struct session {
	LIST_ENTRY(session) link;
	pid_t pid;
	uid_t uid;
	uint64_t start;
	char name[SESSION_NAME];
};

struct sessions {
	LIST_HEAD(, session) all;
	unsigned int count;
};

static bool sessions_lives(const struct session *s)
{
	struct process now;

	return !process_look(s->pid, &now) && now.start == s->start;
}

static void sessions_drop(struct sessions *all, struct session *s)
{
	LIST_REMOVE(s, link);
	all->count--;
	free(s);
}

static void sessions_drop_ended(struct sessions *all)
{
	struct session *s, *next;

	for (s = LIST_FIRST(&all->all); s; s = next) {
		next = LIST_NEXT(s, link);
		if (!sessions_lives(s))
			sessions_drop(all, s);
	}
}

/* For one of this process, which has one session, the last that it has asked for. False: there is none. */
static bool sessions_make_room(struct sessions *all, pid_t pid, uid_t uid)
{
	unsigned int same = 0;
	struct session *s, *next;

	for (s = LIST_FIRST(&all->all); s; s = next) {
		next = LIST_NEXT(s, link);
		if (s->pid == pid)
			sessions_drop(all, s);
		else
			same += s->uid == uid;
	}
	return all->count < SESSIONS_MAX && (!uid || same < SESSIONS_A_USER);
}

int sessions_enter(struct agent *agent, pid_t pid, uid_t uid, const char *wish,
		   char name[SESSION_NAME])
{
	struct process now;
	struct session *s;

	if (!agent->sessions)
		agent->sessions = calloc(1, sizeof(*agent->sessions));
	if (!agent->sessions)
		return -ENOMEM;
	sessions_drop_ended(agent->sessions);
	if (!sessions_make_room(agent->sessions, pid, uid))
		return -ENOSPC;
	if (process_look(pid, &now))
		return -ESRCH;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->pid = pid;
	s->uid = uid;
	s->start = now.start;
	wish_name(s->name, wish, (int)pid, 0);
	LIST_INSERT_HEAD(&agent->sessions->all, s, link);
	agent->sessions->count++;
	strcpy(name, s->name);
	return 0;
}

bool sessions_of(struct agent *agent, pid_t pid, char name[SESSION_NAME])
{
	struct session *s;

	if (cgroup_session_name(agent, pid, name))
		return true;
	if (!agent->sessions)
		return false;
	LIST_FOREACH(s, &agent->sessions->all, link) {
		if (s->pid != pid || !sessions_lives(s))
			continue;
		strcpy(name, s->name);
		return true;
	}
	return false;
}

static void sessions_add_name(void *ctx, const char *name)
{
	json_array_append_new(ctx, json_string(name));
}

void sessions_list(struct agent *agent, json_t *names)
{
	struct session *s;

	cgroup_session_each(agent, sessions_add_name, names);
	if (!agent->sessions)
		return;
	LIST_FOREACH(s, &agent->sessions->all, link)
		if (sessions_lives(s))
			json_array_append_new(names, json_string(s->name));
}

static void sessions_add_pid(void *ctx, pid_t pid)
{
	json_array_append_new(ctx, json_integer(pid));
}

void sessions_processes(struct agent *agent, const char *name, json_t *pids)
{
	struct session *s;

	cgroup_session_processes(agent, name, sessions_add_pid, pids);
	if (!agent->sessions)
		return;
	LIST_FOREACH(s, &agent->sessions->all, link)
		if (!strcmp(s->name, name) && sessions_lives(s))
			json_array_append_new(pids, json_integer(s->pid));
}

void sessions_exit(struct agent *agent)
{
	struct session *s;

	while (agent->sessions && (s = LIST_FIRST(&agent->sessions->all)))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it takes itself out of the list, through prev */
		sessions_drop(agent->sessions, s);
	free(agent->sessions);
	agent->sessions = NULL;
}
