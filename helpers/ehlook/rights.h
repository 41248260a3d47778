/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file rights.h  The rights with which ehlook looks: those of a user. */
#ifndef EHLOOK_RIGHTS_H
#define EHLOOK_RIGHTS_H

#include "wire/look.h"

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

#endif
