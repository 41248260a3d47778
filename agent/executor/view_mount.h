/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file view_mount.h
 * The mount namespace of one view.
 */
#ifndef AGENT_EXECUTOR_VIEW_MOUNT_H
#define AGENT_EXECUTOR_VIEW_MOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct agent;

/** One file system of home's. */
struct view_tree {
	char *path; /**< where it is mounted there */
	int socket; /**< its server's; or what is mounted, if `is_mount` */
	bool is_mount;
};

#define VIEW_PINS 12 /**< folders that stay looked up */

struct view_mount {
	int pins[VIEW_PINS]; /**< descriptors in what was mounted */
	unsigned int npins;
	pid_t pid; /**< of the child that makes it; 0: none */
	int control; /**< becomes readable: view_mount_finish() */
};

/** Starts to mount these for a user; the first is the root. The sockets stay open here. 0 or -errno. */
int view_mount_start(struct agent *agent, struct view_mount *m, const struct view_tree *trees,
		     size_t ntrees, const char *user);
/** The namespace, or -1 with what went wrong in `why`. */
int view_mount_finish(struct view_mount *m, char *why, size_t size);
/**
 * Ends the child. Behind tunnel_close(), unless it has succeeded: what it has
 * mounted goes with it, and the kernel would ask home, through us, who wait here.
 */
void view_mount_cancel(struct view_mount *m);
/** The same holds for this. */
void view_mount_unpin(struct view_mount *m);

#endif
