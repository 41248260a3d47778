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
	int pidfd; /**< -1: not supported here */
	int control; /**< becomes readable: launch_read() */
	pid_t leader; /**< of its session, if it has a terminal; our child, and the task is its child */
	int session; /**< becomes readable: launch_wait(); -1: no leader */
};

/** What the child says of itself. */
struct launch_news {
	bool end; /**< its end was closed: by the exec, or by its death */
	const char *what; /**< else NULL: ready; or what failed */
	int error; /**< errno of it */
};

/**
 * Forks a child into the cgroup (-1: none) that takes on everything of the
 * specification and then waits for launch_go(). fds: what it gets as 0-2, -1
 * for closed; terminal: of its session, -1: none. They stay open here.
 * view: a mount namespace to enter, or -1. 0 or -errno.
 */
int launch_fork(struct agent *agent, struct launch *l, const struct job_spec *spec, int cgroup,
		int view, const int fds[3], int terminal);
/** 1: news; 0: none yet. */
int launch_read(struct launch *l, struct launch_news *news);
int launch_go(struct launch *l);
/** Whether it has stopped, gone on or ended since; then status as waitpid gives it. */
bool launch_wait(struct launch *l, int *status, struct rusage *usage);
/** A command of leader.h, where there is one; they are obeyed in their order. */
void launch_command(const struct launch *l, char command);
/** The leader is no longer needed: it ends. True when it is gone. */
bool launch_dismiss(struct launch *l, bool wait);
/** To the task, or its process group. */
void launch_signal(const struct launch *l, int sig, bool group);
/** Closes the descriptors; the process is not touched. */
void launch_close(struct launch *l);

#endif
