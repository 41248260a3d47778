/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file leader.h
 * The leader of a guest's session: a process between the agent and a task with a terminal. Job
 * control needs it: SIGTSTP does not stop an orphaned process group, so the task's parent must be
 * in the same session; and only a process of the session may set the foreground group.
 */
#ifndef AGENT_EXECUTOR_LEADER_H
#define AGENT_EXECUTOR_LEADER_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/** A message from the leader. */
struct leader_news {
	pid_t pid; /**< of the task */
	int status; /**< as from waitpid(); not in the first message */
	struct rusage usage;
};

/** Commands, one byte each. */
#define LEADER_GO '+' /**< the first message has been read */
#define LEADER_FOREGROUND 'f'
#define LEADER_BACKGROUND 'b'
#define LEADER_CONTINUE 'c' /**< SIGCONT to the task's group, after earlier foreground commands */

/**
 * Becomes the leader of a session with this terminal and runs the task that `start` forks (which
 * returns 0 in the child, or -1 with errno). Does not return in the parent, which exits when the
 * other end of `socket` is closed. In the child it returns when its group is in the foreground, if
 * `foreground` says so. The caller must block all signals.
 */
void leader_run(int socket, int terminal, bool foreground, pid_t (*start)(void *ctx), void *ctx);

#endif
