/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file load_hold.h  One queue for all nodes: execs that wait at home until a processor pulls them. */
#ifndef EH_LOAD_HOLD_H
#define EH_LOAD_HOLD_H

#include "load_inside.h"

/** 0 or -ENOMEM. */
int load_hold_init(struct eh_load *load);
void load_hold_free(struct eh_load *load);
void load_hold_add(struct eh_load *load, uint32_t task);
/** The one that waits longest: of this home, or (LOAD_NONE) of all. LOAD_NONE: none waits. */
uint32_t load_hold_take(struct eh_load *load, uint32_t home);
#endif
