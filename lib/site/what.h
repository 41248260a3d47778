/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file what.h
 * Rules of a site about programs. Each item of a list is the path of a program, or of a directory: then
 * it is about all programs below that. No input or output: links are followed by others.
 */
#ifndef SITE_WHAT_H
#define SITE_WHAT_H

#include <stdbool.h>
#include <stddef.h>

#include "site/who.h"

/** As struct site_who. */
struct site_what {
	char *const *allow, *const *deny;
	size_t nallow, ndeny;
};

/** Whether this may be an item: an absolute path without "//", "." and "..". */
bool site_path_is_good(const char *item);

/** Whether `path` is the item, or below it. Components count: "/opt" is not about "/optical". */
bool site_path_is_below(const char *item, const char *path);

/**
 * Decides: SITE_MAY, SITE_DENIED or SITE_NOT_ALLOWED.
 *
 * @given: the absolute path that was executed; with ".." or the like in it, it allows nothing
 * @real: the same without links; NULL: not known yet, then only `deny` is asked; "": it has none
 */
enum site_answer site_what(const struct site_what *rule, const char *given, const char *real,
			   const char **item);

#endif
