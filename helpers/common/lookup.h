/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file lookup.h
 * Asks this host who a user is. A program of root should not load the modules that know that
 * (nsswitch.conf(5)), and a static one cannot: getent(1) does, as nobody. It changes what SIGCHLD does.
 */
#ifndef HELPERS_COMMON_LOOKUP_H
#define HELPERS_COMMON_LOOKUP_H

#include "helpers/common/names.h"

/** The user of this name. 0, -ENOENT, or another -errno: the host does not say. */
int lookup(const char *name, struct user *out);
/** The user of this number, likewise. */
int lookup_uid(uid_t uid, struct user *out);
void lookup_free(struct user *user);
/**
 * Whether this user, as lookup() has found it, is in a group, a name or a number: 1, 0, or -errno: that is not
 * known. A directory that does not answer is not told from one that does not know the user: both leave groups
 * out of what it has. So a group must be known now, and must not have the user as a member.
 */
int lookup_in_group(const char *name, const struct user *user, const char *group);

#endif
