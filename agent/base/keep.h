/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file keep.h
 * Small files beside that of `state`: the one directory where the agent may write. They are for its
 * user alone, and are there whole or not at all, those of keep_write() also after a power cut.
 */
#ifndef AGENT_BASE_KEEP_H
#define AGENT_BASE_KEEP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct config;

/** The path of a file of this name. false: it is too long. */
bool keep_path(const struct config *config, const char *name, char path[PATH_MAX]);
/** Replaces the file, and returns when it is on disk. 0 or -errno. */
int keep_write(const struct config *config, const char *name, const char *text);
/** As keep_write(), but a power cut may leave the old file, or an empty one. Waits for no disk. */
int keep_note(const struct config *config, const char *name, const char *text);
/** Its content, allocated, with a NUL behind it. NULL (errno): ENOENT, EFBIG above `most` bytes, or other. */
char *keep_read(const struct config *config, const char *name, size_t most);

#endif
