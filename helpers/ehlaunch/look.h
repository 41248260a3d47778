/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file look.h  An ehlook for an agent: LAUNCH_LOOK. */
#ifndef EHLAUNCH_LOOK_H
#define EHLAUNCH_LOOK_H

#include "request.h"

bool look_is_good(const struct request *r);
/** Forks a child that starts it, and keeps it. 0 or -errno. */
int look_start(const struct request *r);

#endif
