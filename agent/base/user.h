/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file user.h
 * Names of users. Answers of name services are kept for a minute; if there is none in time, nobody is
 * known (base/directory.h).
 */
#ifndef AGENT_BASE_USER_H
#define AGENT_BASE_USER_H

#include <stdbool.h>
#include <sys/types.h>

/** NULL: this uid has no name here. Valid until the next call. */
const char *user_name(uid_t uid);

/** The number of a user. 0, -ENOENT or -EAGAIN: there is no answer. */
int user_number(const char *name, uid_t *uid);

/** The number of a group, likewise. */
int user_group(const char *name, gid_t *gid);

/** Whether a group has this number here: 0, -ENOENT or -EAGAIN. */
int user_group_is_known(gid_t gid);

/**
 * Whether the user is in a group, named or by its number: 1, 0, or -errno: one of them is not known, and so who is
 * in it.
 */
int user_in_group(uid_t uid, const char *group);

/** Digest of the numbers and names of local users, to compare with other nodes. Valid until the
 *  next call. "": unknown. */
const char *user_digest(void);

#endif
