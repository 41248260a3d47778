/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file place.h
 * Names of file systems. Two open files with equal names of their file systems and equal inode numbers
 * are one file, also if they were opened on two hosts. Content, size and times do not tell that.
 */
#ifndef HELPERS_END_PLACE_H
#define HELPERS_END_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#define PLACE_MAX 512

/**
 * Writes the name of the file system of an open file, which may be O_PATH. A local one is named by the
 * boot ID and its device number; one of several hosts by its type and source, if that names the server.
 * 0; -errno: it cannot be told.
 */
int place_of(int fd, char out[PLACE_MAX]);
/** Home's files, as a guest sees them: all of them are home's. */
bool place_is_view(const char *place);
/** It belongs to one kernel. */
bool place_is_local(const char *place);

#endif
