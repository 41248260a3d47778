/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file confined.h
 * What confines a thread here and would not confine a task of it on another host: what the module looks at in a
 * task (kmod/eligible.c, view.c, confine.c), as far as /proc shows it. Guests are as ehlaunch starts them, so
 * ehlaunch itself is what a thread is compared with.
 */
#ifndef EHLAUNCH_CONFINED_H
#define EHLAUNCH_CONFINED_H

#include <linux/ehsched.h>
#include <sys/types.h>

#include "wire/launch.h"

struct confined {
	enum ehs_reason reason; /**< EHS_REASON_NONE: nothing does */
	char text[LAUNCH_TEXT]; /**< of the thread, in words: what does */
};

/**
 * Looks at a thread of a process of `uid`; `folder` is its /proc/PID/task/TID. 0, or -errno: it cannot be seen, or
 * has ended (-ESRCH, -ENOENT). What is found is of one moment, and of the thread if that is still there afterwards.
 */
int confined_look(int folder, pid_t tid, uid_t uid, struct confined *found);

/**
 * The controller of version 1 that forbids devices to a process, or classes its packets, and not to us; both are what
 * /proc/PID/cgroup says. NULL: there is none.
 */
const char *confined_legacy(const char *its, const char *ours);

#endif
