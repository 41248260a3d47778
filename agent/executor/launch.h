/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file launch.h
 * Starts the executor's end of a job: a process of the task's user, in a cgroup, with the limits and
 * attributes that the kernel keeps over an exec. It becomes ehguest, which starts the program.
 */
#ifndef AGENT_EXECUTOR_LAUNCH_H
#define AGENT_EXECUTOR_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>
#include "wire/job.h"

struct agent;

struct launch {
	pid_t pid; /**< 0: none */
	int control; /**< readable: call launch_read(); -1: none */
};

/** What became of the start. */
struct launch_news {
	const char *what; /**< NULL: it is ehguest now; otherwise what failed */
	int error; /**< errno of the failure */
};

/** Opens the program once, because a user may not be able to. 0 or -errno. */
int launch_init(struct agent *agent);
void launch_exit(struct agent *agent);
/**
 * Forks a child into `cgroup` (-1: none), which sets itself up as `spec` says and becomes ehguest.
 * view: mount namespace to enter, -1: none; socket: of its end. The caller keeps all these
 * descriptors. 0 or -errno.
 */
int launch_fork(struct agent *agent, struct launch *l, const struct job_spec *spec, int cgroup,
		int view, int socket);
/** Returns 1 with *news, or 0: not known yet. */
int launch_read(struct launch *l, struct launch_news *news);
/** Closes the descriptor and leaves the process alone. */
void launch_close(struct launch *l);

#endif
