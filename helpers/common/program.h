/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file program.h  The program that a command line names. Nothing but libc. */
#ifndef HELPERS_COMMON_PROGRAM_H
#define HELPERS_COMMON_PROGRAM_H

#include <stddef.h>

/** Searches PATH as a shell does, and writes the path. 0; or as a shell has it -ENOENT, -EACCES, or
 *  another -errno: it is there and cannot be executed; -EINVAL: the name is empty. */
int program_find(const char *name, char *path, size_t size);

#endif
