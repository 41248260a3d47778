/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file keep.h  The keeper of a process that an agent has asked for, which may outlive the agent. */
#ifndef EHLAUNCH_KEEP_H
#define EHLAUNCH_KEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "request.h"

/** This child ends, and its own with it, as soon as the agent closes its end of the socket for the answer. */
void keep_begin(const struct request *r);
/** In a child of it, when it has its ids. */
void keep_child(pid_t parent, int nice);
/** Until that, or until the child has ended. */
void keep(pid_t pid) __attribute__((noreturn));
/** Whether a request says in a proper way how it is to stay. */
bool keep_is_good(const struct launch_stay *stay);
/** What is kept for the next agent. */
struct keeping {
	struct launch_stay stay;
	bool executor;
	uid_t uid;
	uint32_t number;
	const int *fds; /**< as told with LAUNCH_READY */
	int nfds;
};
/** Tells the agent that all is ready. From here on the agent may end before it. 0 or -1. */
int keep_ready(int news, const struct keeping *k);
/** Instead of keep(), after keep_ready(): also without an agent, until the limit is over or an agent says LAUNCH_OVER. */
void keep_stay(pid_t pid, int news, const struct keeping *k) __attribute__((noreturn));

#endif
