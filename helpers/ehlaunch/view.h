/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file view.h  Views of home's files: LAUNCH_MOUNT. */
#ifndef EHLAUNCH_VIEW_H
#define EHLAUNCH_VIEW_H

#include "request.h"

/** Whether a request of kind LAUNCH_MOUNT is whole. */
bool view_is_good(const struct request *r);
/** Forks a child that mounts and answers. 0 or -errno. */
int view_start(const struct request *r);
/** Whether this is the namespace of a view of this user of home that was made here. */
bool view_is_ours(int namespace, const char *user, uid_t uid);

#endif
