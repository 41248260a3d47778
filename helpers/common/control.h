/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file control.h  What the agent, or who keeps a view for the next one, says to a side of the view. */
#ifndef COMMON_CONTROL_H
#define COMMON_CONTROL_H

#include <stdint.h>
#include "wire/view.h"

/** Gives it a connection for its file system number `which`. 0 or -errno; the descriptor stays the caller's. */
int control_connect(int control, uint32_t which, int connection);

/** Takes a question. 1; 0: there is none; -1: nobody can ask any more. *connection: with
 *  VIEW_CONNECT, else -1. */
int control_take(int control, struct view_sync *ask, int *connection);

#endif
