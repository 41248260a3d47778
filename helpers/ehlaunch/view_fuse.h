/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file view_fuse.h  The devices of a view, and its ehview. */
#ifndef EHLAUNCH_VIEW_FUSE_H
#define EHLAUNCH_VIEW_FUSE_H

#include "view_mount.h"

/** Opens a file system of FUSE, which loads its module. Returns it, or -1 with errno. */
int view_fuse_open(void);
/** Makes a device and a detached mount for each tree, and starts ehview. Returns its pid, or -errno;
 *  the agent's end of its control. */
pid_t view_fuse_start(struct mounting *v, int *control);

#endif
