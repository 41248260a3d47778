/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file launch.h
 * ehlaunch starts executor's ends of jobs for its agent: of each a child of its own small image, with
 * the ids, limits and attributes of the task, which then goes on as ehguest without an exec.
 */
#ifndef EHLAUNCH_LAUNCH_H
#define EHLAUNCH_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/launch.h"

/* end.c */
/**
 * Forks an end. `groups`: q->ngroups of them; fds: those of enum launch_fd. Returns only in the
 * launcher: 0, or -errno if there is no process for it.
 */
int end_start(const struct launch_request *q, const gid_t *groups, const int fds[LAUNCH_FDS]);

/* attributes.c: 0, or -1 with errno */
/** Scheduling, memory and everything whose order does not matter. */
int attributes_take(const struct launch_request *q);
/** The login user id, before the change of user. Fails rather than leave another one. */
int attributes_take_login(const struct launch_request *q);
/** As root, before the change of user. */
int attributes_take_bounding(const struct launch_request *q);
/** After the change of user, if we were root. */
int attributes_take_capabilities(const struct launch_request *q);

#endif
