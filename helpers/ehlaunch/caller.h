/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file caller.h
 * The process that has come to the agent, as the kernel knows it by their socket.
 */
#ifndef EHLAUNCH_CALLER_H
#define EHLAUNCH_CALLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/launch.h"

struct caller {
	pid_t pid;
	uid_t uid;
	int pidfd;
	int folder; /**< its /proc/PID */
};

/**
 * `came`: when it came, in clock ticks since boot, as the agent says. 0, -EPERM: this is not a socket that
 * somebody has connected to, -ESRCH: it has ended, or another -errno.
 * After 0 caller_drop() follows.
 */
int caller_find(int socket, uint64_t came, struct caller *out);
/** Its user has not changed: it may execute a set-user-ID program. */
bool caller_is_users(const struct caller *caller);
/** Its number is not another's. */
bool caller_lives(const struct caller *caller);
void caller_drop(struct caller *caller);
/** A whole file of a process, to be freed. NULL: errno is set. */
char *caller_read(int folder, const char *name);
/** The path of a controller of version 1 in /proc/PID/cgroup, or of version 2 ("": its line), and the length; NULL: it
 *  is not in use. */
const char *caller_cgroup(const char *cgroups, const char *controller, size_t *length);
/** When a process was started, in clock ticks since boot; 0: not known. */
uint64_t caller_start_of(pid_t pid);
/** Its number, and when it was started: no other process has both. */
void caller_say(pid_t pid, char text[LAUNCH_NOTE_PROCESS]);

#endif
