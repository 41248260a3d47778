/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file cgroup.h
 * Sessions in the node's part of the cgroup hierarchy, and what can be seen there of guests, whose
 * directories ehlaunch makes and removes.
 */
#ifndef AGENT_NODE_CGROUP_H
#define AGENT_NODE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "wire/view.h"

struct agent;

/**
 * Opens managed/, all/ and guest/ below `root`, which ehlaunch has made. 0 or -errno; after an error there
 * are not directories, and the other calls fail.
 */
int cgroup_init(struct agent *agent, const char *root);
void cgroup_exit(struct agent *agent);
int cgroup_managed_fd(struct agent *agent);
int cgroup_guest_fd(struct agent *agent);

/** What the cgroup of a process says of its tasks. Without cgroup 2 nothing is known, and all is 0. */
struct cgroup_session {
	bool guest; /* the process is a task of another node, and in no session */
	bool leaves; /* tasks leave whatever the load */
	bool retries; /* lost tasks may be run again */
	enum view view; /* that is chosen for them, or VIEW_UNSET */
};

/** One look at the cgroup of this process. */
struct cgroup_session cgroup_session_of(struct agent *agent, pid_t pid);
/** The name of the session that this process is in. False: in none, or it is not known. */
bool cgroup_session_name(struct agent *agent, pid_t pid, char name[64]);
/** Calls `call` with the name of each session that has processes. */
void cgroup_session_each(struct agent *agent, void (*call)(void *ctx, const char *name), void *ctx);
/** Calls `call` with each process of a session, without those of cgroups below it. */
void cgroup_session_processes(struct agent *agent, const char *name,
			      void (*call)(void *ctx, pid_t pid), void *ctx);
/**
 * What the processes of a guest use: seconds of processor time, and bytes of memory (-1: not known).
 * 0 or -errno.
 */
int cgroup_guest_usage(struct agent *agent, const char *id, double *cpu, int64_t *memory);
/** Processes of a guest that were killed because memory was short; -1: not known. */
int64_t cgroup_guest_starved(struct agent *agent, const char *id);
/**
 * Whether this process is in the cgroup of that guest, and was started before `ticks` (as in
 * /proc/PID/stat).
 */
bool cgroup_guest_has(struct agent *agent, const char *id, pid_t pid, uint64_t ticks);
/** Whether it is known that nothing of this guest is left. */
bool cgroup_guest_empty(struct agent *agent, const char *id);
/** The inode number of the mount namespace of home's files that this guest is in; 0: none. */
uint64_t cgroup_guest_view(struct agent *agent, const char *id);
/** The number that its user has at home; `none`: it is not noted. */
uid_t cgroup_guest_user(struct agent *agent, const char *id, uid_t none);
/** Whether a guest with processes is in that namespace. */
bool cgroup_guest_sees(struct agent *agent, uint64_t view);
/** Calls `call` with the ID of each guest that has processes. */
void cgroup_guest_each(struct agent *agent, void (*call)(void *ctx, const char *id), void *ctx);
/** Has all processes of a guest killed by ehlaunch, if there are some. */
void cgroup_guest_kill(struct agent *agent, const char *id);

#endif
