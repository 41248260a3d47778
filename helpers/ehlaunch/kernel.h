/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file kernel.h  Registration of an agent with the module: LAUNCH_KERNEL. */
#ifndef EHLAUNCH_KERNEL_H
#define EHLAUNCH_KERNEL_H

#include "request.h"

bool kernel_is_good(const struct request *r);
/** Registers a socket with the module, and answers with it. Always 0. */
int kernel_register(const struct request *r);

#endif
