/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file control.h  What the agent, or who keeps a view for the next one, says to a side of the view. */
#ifndef COMMON_CONTROL_H
#define COMMON_CONTROL_H

#include <stdint.h>
#include "wire/view.h"

/** Asks it `what` of wire/view.h; `connection`: with VIEW_CONNECT, else -1. It stays the caller's. 0 or -errno. */
int control_ask(int control, uint32_t ticket, uint32_t what, int connection);
/** A ticket that was answered; 0: none; -EPIPE: it has ended. */
int64_t control_answer(int control);

/** Takes a question. 1; 0: there is none; -1: nobody can ask any more. *connection: with
 *  VIEW_CONNECT, else -1. */
int control_take(int control, struct view_sync *ask, int *connection);

#endif
