/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file load_place.h  Where tasks run: the policies of load.h. */
#ifndef EH_LOAD_PLACE_H
#define EH_LOAD_PLACE_H

#include "load_inside.h"

/** What the policy needs. 0 or -ENOMEM. */
int load_place_init(struct eh_load *load);
void load_place_free(struct eh_load *load);
/** A task has arrived at its home, now. */
void load_place_arrive(struct eh_load *load, uint32_t task);
/** A task that ran on this node has ended, now. */
void load_place_ended(struct eh_load *load, uint32_t node);
/** When the next of the policy's own events is; INFINITY: none. */
double load_place_due(struct eh_load *load);
/** It happens, now. */
void load_place_happen(struct eh_load *load);
/** At the end of the run: the tree's messages. */
void load_place_messages(struct eh_load *load);

#endif
