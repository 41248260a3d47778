/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file launch.h
 * Has the executor's end of a job started by ehlaunch: a process of the task's user, in a cgroup, with
 * the limits and attributes that the kernel keeps over a fork. It is ehguest, which starts the program.
 */
#ifndef AGENT_EXECUTOR_LAUNCH_H
#define AGENT_EXECUTOR_LAUNCH_H

#include <linux/ehsched.h>
#include <stdbool.h>
#include <sys/types.h>
#include "wire/caller.h"

struct agent;

struct launch {
	int news; /**< readable: call launch_read(); -1: none */
	bool tells; /**< its end was asked to say what it sees when it has its job (FRAME_SEEN) */
};

/** What became of the start. */
struct launch_result {
	const char *what; /**< NULL: it is ehguest now; otherwise what failed */
	enum ehs_reason reason; /**< of the failure */
	int error; /**< its errno, or 0 */
	bool view_unknown; /**< it failed because ehlaunch does not know the view */
	pid_t pid; /**< of ehguest */
};

/**
 * Asks for an end of the guest `id`, of this caller as far as this host permits. user: its name;
 * view: mount namespace to enter, -1: none; socket: of its end; must_tell: its place depends on what
 * the end says that it sees. The caller keeps all these descriptors. 0 or -errno.
 */
int launch_start(struct agent *agent, struct launch *l, const struct caller *who, const char *id,
		 const char *user, int view, int socket, bool must_tell);
/** Returns 1 with *result, or 0: not known yet. */
int launch_read(struct launch *l, struct launch_result *result);
/** Closes the descriptor and leaves the process alone. */
void launch_close(struct launch *l);

#endif
