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

/**
 * Creates managed/ and guest/ below `root`. 0 or -errno; after an error there are no
 * directories, and the other calls fail.
 */
int cgroup_init(struct agent *agent, const char *root);
void cgroup_exit(struct agent *agent);
int cgroup_managed_fd(struct agent *agent);
int cgroup_guest_fd(struct agent *agent);
/**
 * Starts a managed session with this process in it and returns its name in `name`, which
 * begins with `wish` (NULL: none). 0 or -errno; -ENOENT: there are no cgroups.
 */
int cgroup_session(struct agent *agent, pid_t pid, const char *wish, bool retry, enum view view,
		   char name[64]);
/** Whether this process is in a session whose lost tasks may be run again. */
bool cgroup_session_retries(struct agent *agent, pid_t pid);
/** The view chosen for its session, or VIEW_UNSET. */
enum view cgroup_session_view(struct agent *agent, pid_t pid);
/**
 * Creates a guest's directory. Returns a descriptor of it (for CLONE_INTO_CGROUP), which the
 * caller closes, or -errno. cgroup_guest_end() kills what is left and removes the directory.
 */
int cgroup_guest_begin(struct agent *agent, const char *id);
/** Whether this process is in the cgroup of that guest. */
bool cgroup_guest_has(struct agent *agent, const char *id, pid_t pid);
/** A guest of an earlier agent goes on with this one. False: it has no cgroup. */
bool cgroup_guest_adopt(struct agent *agent, const char *id);
/** Kills the guests of an earlier agent that did not go on with this one. */
void cgroup_guest_end_orphans(struct agent *agent);
void cgroup_guest_kill(struct agent *agent, const char *id);
void cgroup_guest_end(struct agent *agent, const char *id);

#endif
