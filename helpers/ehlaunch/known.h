/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file known.h  Users that were looked up a moment ago. */
#ifndef EHLAUNCH_KNOWN_H
#define EHLAUNCH_KNOWN_H

#include "helpers/common/names.h"

/** Returns a descriptor: if it is readable call known_take(). -1: failed. */
int known_open(void);
void known_take(void);
/** In a child: tells the launcher of a user. `guest`: the rules let tasks of this user run here. */
void known_tell(const char *name, const struct user *user, bool guest);
/** In a child: what the launcher knew of this user; `uid` -1: of any number; `guest`: only if that was so. */
bool known_find(const char *name, uid_t uid, bool guest, struct user *out);
/** In a child: it has no more to tell. */
void known_close(void);

#endif
