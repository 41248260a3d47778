/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file files.h
 * Files that are written all or not at all, and never over others. Failures are reported here.
 */
#ifndef EHCERT_FILES_H
#define EHCERT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define FILES_MAX 8

/** Files of one directory that one command writes. */
struct files {
	const char *dir;
	gid_t group; /**< of private files, which it may read; see files_share() */
	bool shared; /**< false: private files are for their owner alone */
	bool made; /**< the directory was not there */
	size_t count; /**< of `names` that are written */
	char names[FILES_MAX][160];
};

/** Creates the directory, and those above it, unless it is there. 0, or an exit code. */
int files_begin(struct files *files, const char *dir);
/** From now on the agent's user, if there is one, may read private files, and so the directory. */
void files_share(struct files *files);
/** Whether none of that name is there. 0, or an exit code after a message. */
int files_fresh(const struct files *files, const char *name);
/** Writes one; `secret` ones are not for all. 0, or an exit code after a message. */
int files_write(struct files *files, const char *name, const char *text, bool secret);
/** Removes what was written. Returns `code`. */
int files_undo(struct files *files, int code);
/** The content, which ends in a NUL that does not count. NULL after a message. */
char *files_read(const char *dir, const char *name, size_t *length);

#endif
