/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file look.h
 * ehlook looks at programs and directories for its agent, with the rights of the user whose they are. A
 * file system that does not answer holds up this process and nothing else: its agent starts another.
 */
#ifndef EHLOOK_LOOK_H
#define EHLOOK_LOOK_H

#include <stdbool.h>

#include "wire/look.h"

/* rights.c */
/** From now on it ends with whoever has started it, also while a file system does not answer. */
void rights_begin(void);
/** Descriptor of the process's directory in /proc, which is of this user; or -errno. */
int rights_open_process(const struct look_request *q);
/** Finds out the user's groups: those of `process`, or -1: of the user. 0 or -errno. */
int rights_find(const struct look_request *q, int process);
/** Takes the rights of the user and groups that were found last. 0 or -errno. */
int rights_take(void);
/** Takes root's again, if it had them. Ends if that fails. */
void rights_drop(void);

/* program.c */
/** Opens a program's path (O_PATH) with the rights that were taken, and describes it. Returns the
 *  descriptor or -errno: nothing but a regular file, which the user may read or execute. */
int program_find(const struct look_request *q, int folder, struct look_answer *a);
/** Reads it all. */
void program_digest(const struct look_request *q, int program, struct look_answer *a);

#endif
