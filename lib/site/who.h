/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file who.h
 * Rules of a site about users. Each item of a list is the name of a user, "@" and the name of a group,
 * or the number of one of them. No input or output: the caller knows who is in a group.
 */
#ifndef SITE_WHO_H
#define SITE_WHO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SITE_ITEMS_MAX 64 /**< items of a list */
#define SITE_WHO_MAX 63 /**< bytes of a name */

/** The users who may: nobody in `deny`, and, if `allow` has any item, only users in it. */
struct site_who {
	char *const *allow, *const *deny;
	size_t nallow, ndeny;
};

enum site_answer {
	SITE_MAY,
	SITE_DENIED, /**< an item of `deny` is about it */
	SITE_NOT_ALLOWED, /**< no item of `allow` is */
	SITE_UNSURE, /**< it is not known whether one of `deny` is */
};

/** Whether the user is in this group, a name or a number: 1, 0, or -errno: it is not known. */
typedef int (*site_group_fn)(void *ctx, const char *group);

/** Whether this may be an item of a list. */
bool site_who_is_good(const char *item);

/**
 * Decides. A group of `allow` that is not known has no members; of `deny`, it refuses. So does a name of
 * `deny` if `name` is "": the user has none, or the host does not say it.
 *
 * @item: set to the item that decided, if one did; NULL: nobody wants to know
 */
enum site_answer site_who(const struct site_who *rule, const char *name, uid_t uid,
			  site_group_fn in_group, void *ctx, const char **item);

/** A number, as an item may be: false if it is a name. */
bool site_number(const char *text, unsigned int *out);

#endif
