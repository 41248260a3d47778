/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file remote.h  A command on a host of the cluster, started as `ehctl exec HOST --` does. */
#ifndef EHPLAN_REMOTE_H
#define EHPLAN_REMOTE_H

#include <sys/types.h>

#include "cluster.h"

/** In a child, which may share its parent's memory: becomes the command, or the stub that stands for it.
 *  Returns only on failure, with the exit code after a message. */
int remote_become(const struct cluster_host *host, const char *view, char *const *argv);

/** Descriptors of a child: -1 is /dev/null. */
struct remote_files {
	int in, out, err;
};

/** Starts the command in a session of its own. The process of it or of its stub, or -errno. It gets
 *  SIGTERM when this process ends, even by SIGKILL. */
pid_t remote_start(const struct cluster_host *host, const char *view, char *const *argv,
		   const struct remote_files *files);
/** Waits for its end, but not longer than this: then its session is killed. The status of wait(). */
int remote_end(pid_t pid, int limit_ms);
/** Signals are as they were when the program started. For a child, before it becomes another. */
void remote_default_signals(void);
/** Blocks SIGCHLD and the signals that end a program; a signalfd with `flags` for them, or -1 after a
 *  message. */
int remote_signals(int flags);
/** The first signal but SIGCHLD that is there, with SFD_NONBLOCK; 0: none. */
int remote_take_signal(int signals);
/** Puts a descriptor at `to`; -1: /dev/null. 0 or -errno. */
int remote_place(int fd, int to);
/** The exit code that a shell has for a status of wait(). */
int remote_code(int status);

#endif
