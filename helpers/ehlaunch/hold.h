/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file hold.h  The holder of a view's devices. */
#ifndef EHLAUNCH_HOLD_H
#define EHLAUNCH_HOLD_H

#include <sys/types.h>

/**
 * Forks the holder of these devices: when this process, the keeper, or the server has ended it kills the
 * guests in the namespace that it is called in, and then gives the devices up. 0, or -1 with errno.
 */
int hold_start(const int *devices, unsigned int n, pid_t server);

#endif
