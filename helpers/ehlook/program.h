/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file program.h  What a program is, with the rights of a user. */
#ifndef EHLOOK_PROGRAM_H
#define EHLOOK_PROGRAM_H

#include "wire/look.h"

/** Opens a program's path (O_PATH) with the rights that were taken, and describes it. Returns the
 *  descriptor or -errno: nothing but a regular file, which the user may read or execute. */
int program_find(const struct look_request *q, int folder, struct look_answer *a);
/** Reads it all. */
void program_digest(const struct look_request *q, int program, struct look_answer *a);

#endif
