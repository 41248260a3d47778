/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file session.h  Sessions of `ehctl run`: LAUNCH_SESSION. */
#ifndef EHLAUNCH_SESSION_H
#define EHLAUNCH_SESSION_H

#include "request.h"

bool session_is_good(const struct request *r);
/** Makes a session with the process that asked for it, and answers. Always 0. */
int session_start(const struct request *r);

#endif
