/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file user.h  Whose process a child becomes. */
#ifndef EHLAUNCH_USER_H
#define EHLAUNCH_USER_H

#include "request.h"

struct identity {
	uid_t uid;
	gid_t gid;
	size_t ngroups;
	const gid_t *groups;
};

/** Whether this may be looked up as the name of a user, or need not be. */
bool user_is_named(const char name[LAUNCH_USER_MAX], uid_t uid);
/**
 * Decides who a process is that a request LAUNCH_START asks for; it was admitted. In the child, as it
 * may have to wait. Returns LAUNCH_READY, or what is wrong, with an errno or 0.
 */
enum launch_stage user_find(const struct request *r, struct identity *out);
/**
 * Finds a user, with all groups. In a child, as user_find(). `guest`: for a task of another
 * host, of one of its users. 0, -EPERM: nothing is done for this user, -ENOENT: unknown, or of another number, or
 * another -errno.
 */
int user_here(const char *name, uid_t uid, bool guest, struct identity *out);
/** Becomes this user. 0 or -errno, which errno has, too. */
int user_become(const struct identity *who);

#endif
