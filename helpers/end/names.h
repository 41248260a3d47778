/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file names.h
 * Looks at the files that the arguments of a job name: home's end makes the list (wire/named.h), the
 * executor's end compares it with what is there. Both are processes of the user, so a file system that
 * does not answer holds up nobody else, and a path that the user may not see tells him nothing.
 */
#ifndef HELPERS_END_NAMES_H
#define HELPERS_END_NAMES_H

#include <stddef.h>
#include <stdint.h>

/** Writes the list for these arguments, at most FRAME_NAMED_MAX bytes; returns their number. */
size_t names_make(char *const *argv, uint8_t *out);
/** 0: all are the same here; -EXDEV: *path (in the list) is not; -EBADMSG. */
int names_compare(const uint8_t *list, size_t length, const char **path);

#endif
