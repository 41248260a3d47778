/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file cgroup.h
 * Sessions and guests in the node's part of the cgroup hierarchy.
 */
#ifndef AGENT_NODE_CGROUP_H
#define AGENT_NODE_CGROUP_H

#include <stdbool.h>
#include <sys/types.h>
#include "wire/view.h"

struct agent;

/** Nothing is left in this guest's cgroup. */
typedef void (*cgroup_emptied_fn)(struct agent *agent, const char *id);
/** Makes managed/ and guest/ below `root`. 0, or -errno: then there are none, and all calls say so. */
int cgroup_init(struct agent *agent, const char *root, cgroup_emptied_fn emptied);
void cgroup_exit(struct agent *agent);
int cgroup_managed_fd(struct agent *agent);
int cgroup_guest_fd(struct agent *agent);
/** New managed session with this process in it; its name into `name`. */
int cgroup_session(struct agent *agent, pid_t pid, const char *wish, bool retry, enum view view,
		   char name[64]);
/** Whether this process is in a session whose lost tasks may be run again. */
bool cgroup_session_retries(struct agent *agent, pid_t pid);
/** The view that its session was given, or VIEW_UNSET. */
enum view cgroup_session_view(struct agent *agent, pid_t pid);
/** Folder for one guest; freed (killed, removed) by cgroup_guest_end(). */
int cgroup_guest_begin(struct agent *agent,
		       const char *id); /* descriptor of the folder, for CLONE_INTO_CGROUP */
void cgroup_guest_kill(struct agent *agent, const char *id);
void cgroup_guest_end(struct agent *agent, const char *id);

#endif
