/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file user.h
 * Names of users. The name service may be slow, so answers are cached for a while.
 */
#ifndef AGENT_BASE_USER_H
#define AGENT_BASE_USER_H

#include <stdbool.h>
#include <sys/types.h>

/** NULL: this uid has no name here. Valid until the next call. */
const char *user_name(uid_t uid);

/** Whether a user has this name here. Not cached. */
bool user_is_known(const char *name);

/** Whether a group has this number here. Not cached. */
bool user_group_is_known(gid_t gid);

/** The number of a user. 0 or -ENOENT. */
int user_number(const char *name, uid_t *uid);

/** The number of a group. 0 or -ENOENT. */
int user_group(const char *name, gid_t *gid);

/**
 * Whether the user is in a group, named or by its number: 1, 0, or -errno: one of them is not known, and so who is
 * in it.
 */
int user_in_group(uid_t uid, const char *group);

/** Digest of the numbers and names of local users, to compare with other nodes. Valid until the
 *  next call. "": unknown. */
const char *user_digest(void);

#endif
