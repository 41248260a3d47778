/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file owner.h  Whose a new file is. */
#ifndef EHVIEW_OWNER_H
#define EHVIEW_OWNER_H

#include "call.h"

/** To be called with the answer to the making of c->name in c->node. True: home was asked to give it to
 *  the user who made it, and `done` is called again with the answer to that. */
bool owner_settle(struct call *c, const message *a, void (*done)(struct call *c, const message *a));

#endif
