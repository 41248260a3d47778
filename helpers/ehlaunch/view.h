/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file view.h
 * The parts of a request LAUNCH_MOUNT, in the child that serves it.
 */
#ifndef EHLAUNCH_VIEW_H
#define EHLAUNCH_VIEW_H

#include "launch.h"

/** One of home's file systems. */
struct tree {
	const char *path; /**< where home has mounted it */
	int socket; /**< of its server */
	int mount; /**< detached; -1: none yet */
};

struct mounting {
	const struct launch_mount *q;
	struct tree trees[VIEW_TREES_MAX];
	enum launch_stage stage; /**< the step that is done, for the answer when it fails */
	struct identity who;
};

/* view_fuse.c */
/** Opens a file system of FUSE, which loads its module. Returns it, or -1 with errno. */
int view_fuse_open(void);
/** Makes a device and a detached mount for each tree, and starts ehview. Returns its pid, or -errno;
 *  the agent's end of its control. */
pid_t view_fuse_start(struct mounting *v, int *control);

/* view_mount.c */
/** Makes this process's mount namespace that of the view. 0, or -1 with errno. */
int view_mount(struct mounting *v);

/* hold.c */
/**
 * Forks the holder of these devices: when this process, the keeper, or the server has ended it kills the
 * guests in the namespace that it is called in, and then gives the devices up. 0, or -1 with errno.
 */
int hold_start(const int *devices, unsigned int n, pid_t server);

#endif
