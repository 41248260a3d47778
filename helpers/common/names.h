/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file names.h
 * Names of users, what getent(1) prints about one, and groups as sets of numbers. No input or output.
 */
#ifndef HELPERS_COMMON_NAMES_H
#define HELPERS_COMMON_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "wire/launch.h"

/** A user of this host. */
struct user {
	uid_t uid;
	gid_t gid;
	size_t ngroups;
	gid_t *groups; /**< beside `gid` */
};

/** Whether this is a name, that ends with NUL and that getent does not take for something else. */
bool names_is_good(const char name[LAUNCH_USER_MAX]);
/** Whether this is the ID of a guest, "0.1:17". It becomes the name of a directory. */
bool names_is_id(const char *id);
/**
 * The name in a line of "getent passwd NUMBER". Returns 0, -ENOENT: there is none, or -EINVAL: it is not
 * one that getent takes for a name.
 */
int names_parse_name(const char *text, size_t length, char name[LAUNCH_USER_MAX]);
/** The line of "getent passwd NAME". Returns 0, or -ENOENT: it is not about this name. */
int names_parse_passwd(const char *text, size_t length, const char *name, struct user *out);
/** Whether a group is given by its number. */
bool names_is_number(const char *group, gid_t *out);
/**
 * The line of "getent group GROUP", of a name or a number: whether it has this user as a member. 1, 0, or
 * -ENOENT: it is not about this group.
 */
int names_parse_group(const char *text, size_t length, const char *group, const char *user,
		      gid_t *gid);
/**
 * The line of "getent initgroups NAME". Stores at most `max` numbers in out->groups. Returns 0, or
 * -ENOENT: it is not about this name, -E2BIG: there are more.
 */
int names_parse_groups(const char *text, size_t length, const char *name, size_t max,
		       struct user *out);
/** Whether the user is in this group. */
bool names_has_group(const struct user *user, gid_t gid);
/** Keeps of these groups those that the user is in, in their order. Returns how many these are. */
size_t names_keep_groups(const struct user *user, const gid_t *from, size_t n, gid_t *to);

#endif
