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

/** One of home's file systems. */
struct view_tree {
	char *path; /**< where home has mounted it */
	int socket; /**< of its server; or, if `is_mount`, a detached mount */
	bool is_mount;
};

#define VIEW_PINS 12 /**< directories that stay looked up */

struct view_mount {
	int pins[VIEW_PINS]; /**< descriptors in the mounted tree */
	unsigned int npins;
	pid_t pid; /**< of the child that mounts; 0: none */
	int control; /**< readable: call view_mount_finish() */
};

/** Starts to mount these for a user; the first is the root. Sockets stay open here. 0 or -errno. */
int view_mount_start(struct agent *agent, struct view_mount *m, const struct view_tree *trees,
		     size_t ntrees, const char *user);
/** The namespace, which the caller closes; or -1 with the error in `why`. */
int view_mount_finish(struct view_mount *m, char *why, size_t size);
/**
 * Ends the child. Unless it has succeeded, call tunnel_close() first: its mounts end with it, and
 * the kernel would send requests home through this agent, which waits here.
 */
void view_mount_cancel(struct view_mount *m);
/** Closes the pinned descriptors. Call tunnel_close() first, for the same reason. */
void view_mount_unpin(struct view_mount *m);

#endif
