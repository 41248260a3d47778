/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file launch.h
 * The process of a guest, from fork to exec.
 */
#ifndef AGENT_EXECUTOR_LAUNCH_H
#define AGENT_EXECUTOR_LAUNCH_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>
#include "wire/job.h"

struct agent;

struct launch {
	pid_t pid;
	int pidfd; /**< -1: not supported by this kernel */
	int control; /**< readable: call launch_read() */
	/** of the session, if it has a terminal; child of the agent and parent of the task */
	pid_t leader;
	int session; /**< readable: call launch_wait(); -1: no leader */
};

/** A message of the child. */
struct launch_news {
	bool end; /**< the child's end was closed, by its exec or its death */
	const char *what; /**< NULL: ready; otherwise what failed */
	int error; /**< errno of the failure */
};

/**
 * Forks a child into `cgroup` (-1: none). It sets itself up as `spec` says and then waits for
 * launch_go(). fds: its descriptors 0-2, -1: closed; view: mount namespace to enter, -1: none;
 * terminal: of its session, -1: none. The caller keeps all these descriptors. 0 or -errno.
 */
int launch_fork(struct agent *agent, struct launch *l, const struct job_spec *spec, int cgroup,
		int view, const int fds[3], int terminal);
/** Returns 1 with *news, or 0: none yet. */
int launch_read(struct launch *l, struct launch_news *news);
int launch_go(struct launch *l);
/** Whether it has stopped, continued or ended; *status as from waitpid(), *usage at the end. */
bool launch_wait(struct launch *l, int *status, struct rusage *usage);
/** Sends a command of leader.h, if there is a leader. Commands are obeyed in order. */
void launch_command(const struct launch *l, char command);
/** Ends the leader. True: it is gone, or there was none. */
bool launch_dismiss(struct launch *l, bool wait);
/** Signals the task, or its process group. */
void launch_signal(const struct launch *l, int sig, bool group);
/** Closes the descriptors and leaves the process alone. */
void launch_close(struct launch *l);

#endif
