/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file view_mount.h  The mount namespace of a view, in the child that serves a request LAUNCH_MOUNT. */
#ifndef EHLAUNCH_VIEW_MOUNT_H
#define EHLAUNCH_VIEW_MOUNT_H

#include "user.h"

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

/** Makes this process's mount namespace that of the view. 0, or -1 with errno. */
int view_mount(struct mounting *v);

#endif
