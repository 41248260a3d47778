/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file keep.h
 * Small files beside that of `state`: the one directory where the agent may write. They are for its
 * user alone, and are there whole or not at all, those of keep_write() also after a power cut.
 *
 * A disk may take seconds to answer, or not answer at all, and the loop waits for none: a thread
 * writes the files, one after the other. It does nothing else and allocates no memory.
 */
#ifndef AGENT_BASE_KEEP_H
#define AGENT_BASE_KEEP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct agent;
struct config;

/** The file is there, or (-errno) is not. Called from the loop; `ctx` is the caller's. */
typedef void (*keep_done_fn)(void *ctx, int err);

/** Starts the thread. 0 or -errno. */
int keep_init(struct agent *agent);
/**
 * Waits until all is done that was asked for, at most two seconds, and tells it to those who asked;
 * they hear -ETIMEDOUT of what has not been done by then.
 */
void keep_settle(struct agent *agent);
/** The same, and the end of it. */
void keep_exit(struct agent *agent);

/** Makes the directory if it is not there; writing a file does, too. */
void keep_make(const struct config *config);
/** The path of a file of this name. false: it is too long. */
bool keep_path(const struct config *config, const char *name, char path[PATH_MAX]);
/**
 * Replaces the file; when that is on disk, or has failed, `done` (may be NULL) is called. A later
 * content of the file that is to be written anyway takes the place of one that waits: then both hear
 * of the later one. 0 or -errno: then `done` is not called.
 */
int keep_write(struct agent *agent, const char *name, const char *text, keep_done_fn done,
	       void *ctx);
/** As keep_write(), but a power cut may leave the old file, or an empty one. */
int keep_note(struct agent *agent, const char *name, const char *text, keep_done_fn done,
	      void *ctx);
/** Removes the file. It need not be there. 0 or -errno. */
int keep_remove(struct agent *agent, const char *name);
/** Its content, allocated, with a NUL behind it. NULL (errno): ENOENT, EFBIG above `most` bytes, or other. */
char *keep_read(const struct config *config, const char *name, size_t most);

#endif
