/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file view_mount.h
 * Has the mount namespace of a view made by ehlaunch.
 */
#ifndef AGENT_EXECUTOR_VIEW_MOUNT_H
#define AGENT_EXECUTOR_VIEW_MOUNT_H

#include <stddef.h>
#include <sys/types.h>
#include "wire/launch.h"
#include "wire/view.h"

struct agent;

/** Home's file systems, the root first. */
struct view_trees {
	const char *paths[VIEW_TREES_MAX]; /**< where home has mounted them */
	int sockets[VIEW_TREES_MAX]; /**< of their servers */
	unsigned int n;
};

struct view_mount {
	int news; /**< readable: call view_mount_take(). Its close ends the view. -1: none */
	int ns; /**< the mount namespace; -1: not mounted yet */
	int control; /**< of ehview; -1: none */
};

/** Nothing is mounted, and view_mount_end() may be called. */
void view_mount_init(struct view_mount *m);
/** Starts to mount these for a user. Sockets stay open here. 0 or -errno. */
int view_mount_start(struct agent *agent, struct view_mount *m, const struct view_trees *trees,
		     uid_t uid, const char *user, const struct launch_stay *stay);
/** Asks whether anything could be mounted here: view_mount_take() says so. 0 or -errno. */
int view_mount_try(struct agent *agent, struct view_mount *m);
/** 0: nothing new, 1: it is mounted, -1: it is not, or not any more, with the reason in `why`. */
int view_mount_take(struct view_mount *m, char *why, size_t size);
/** Ends it. Close its routes first: the kernel may send requests home through this agent. */
void view_mount_end(struct view_mount *m);

#endif
