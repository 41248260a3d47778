/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file attributes.h  Attributes of a task, taken on by an executor's end: 0, or -1 with errno. */
#ifndef EHLAUNCH_ATTRIBUTES_H
#define EHLAUNCH_ATTRIBUTES_H

#include "wire/launch.h"

/** Scheduling, memory and everything whose order does not matter. */
int attributes_take(const struct launch_start *q);
/** The login user id, before the change of user. Fails rather than leave another one. */
int attributes_take_login(const struct launch_start *q);
/** As root, before the change of user. */
int attributes_take_bounding(const struct launch_start *q);
/** After the change of user, if we were root. */
int attributes_take_capabilities(const struct launch_start *q);

#endif
