/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file forget.h  Makes the kernel forget names, in a process that may wait for the kernel's locks. */
#ifndef EHVIEW_FORGET_H
#define EHVIEW_FORGET_H

#include "tree.h"

/** Starts the process. The event base must have no events. 0 or -errno. */
int forget_init(struct event_base *base, unsigned int ntrees);
void forget_name(const struct tree *t, fuse_ino_t folder, const char *name);
/** After all names before it are forgotten, sends the ticket (four bytes) to the agent. */
void forget_fence(uint32_t ticket);

#endif
