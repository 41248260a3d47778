/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file leader.h
 * The leader of a guest's session, for a task with a terminal: a process
 * between agent and task. As the task's parent in its session it makes job
 * control work there (a group whose parents are all elsewhere is orphaned and
 * SIGTSTP does not stop it), and only a process of the session may say which
 * group is in the foreground.
 */
#ifndef AGENT_EXECUTOR_LEADER_H
#define AGENT_EXECUTOR_LEADER_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/** What a leader tells, one message each. */
struct leader_news {
	pid_t pid; /**< of the task */
	int status; /**< as waitpid gives it; the first message's is none */
	struct rusage usage;
};

/** Commands, one byte each. */
#define LEADER_GO '+' /**< the first message was read */
#define LEADER_FOREGROUND 'f'
#define LEADER_BACKGROUND 'b'
#define LEADER_CONTINUE 'c' /**< SIGCONT to the task's group, when the terminal is its own again */

/**
 * Becomes the leader of a session with this terminal and runs the task that
 * `start` forks (0 in the child, or -1 and errno). Does not return in the
 * parent, which ends when the other end of `socket` is closed; in the child
 * it returns with its group in the foreground, if it is to be. All signals are blocked.
 */
void leader_run(int socket, int terminal, bool foreground, pid_t (*start)(void *ctx), void *ctx);

#endif
