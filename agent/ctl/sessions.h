/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file sessions.h
 * Names of sessions (`ehctl run -n NAME`). With the module a session is a cgroup, whose name has the
 * user's in it; without, it is one process, and its name is kept here until that ends.
 */
#ifndef AGENT_CTL_SESSIONS_H
#define AGENT_CTL_SESSIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "wire/wish.h"

struct agent;

/** Notes that this process of this user is a session of its own; the name it gets is in name[]. 0 or -errno. */
int sessions_enter(struct agent *agent, pid_t pid, uid_t uid, const char *wish,
		   char name[SESSION_NAME]);
/** The session that the process is in: "NAME.PID.NUMBER", or "sPID.NUMBER" without a name. False: none. */
bool sessions_of(struct agent *agent, pid_t pid, char name[SESSION_NAME]);
/** Appends the names of all sessions. */
void sessions_list(struct agent *agent, json_t *names);
/** Appends the process IDs of a session. */
void sessions_processes(struct agent *agent, const char *name, json_t *pids);
void sessions_exit(struct agent *agent);

#endif
