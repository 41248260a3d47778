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
/** The number of a group, likewise. */
int lookup_group(const char *name, gid_t *gid);

#endif
