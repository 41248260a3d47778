/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file map.h
 * Users of other hosts as users of this one, where their names or numbers differ. Each item of a map
 * is "THERE=HERE", the name of a user there and here, or "*": the user of the same name. No input or
 * output.
 */
#ifndef SITE_MAP_H
#define SITE_MAP_H

#include <stdbool.h>
#include <stddef.h>

/** Whether this may be an item. Nobody is made root. */
bool site_map_is_good(const char *item);

/**
 * The name here of a user whose name there is `name`, whatever the number; NULL: no item is about it.
 * The first item with that name decides, and "*" only if there is none.
 */
const char *site_map(char *const *items, size_t n, const char *name);

#endif
