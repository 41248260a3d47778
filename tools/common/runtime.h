/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file runtime.h  Directories for sockets and FIFOs of one run. */
#ifndef TOOLS_RUNTIME_H
#define TOOLS_RUNTIME_H

#include <stddef.h>

/**
 * Makes a directory of this user's own, `name`-XXXXXX, below XDG_RUNTIME_DIR, or below /tmp if that
 * is not set, is too long, or would have to be quoted in a makefile or a shell. Not below TMPDIR:
 * tasks that move may share that, by a file system that has no sockets.
 * 0, or -errno with `path` empty.
 */
int runtime_folder(char *path, size_t size, const char *name);

#endif
