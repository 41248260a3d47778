/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file load_wait.h  Execs that wait at home for a processor. */
#ifndef EH_LOAD_WAIT_H
#define EH_LOAD_WAIT_H

#include "load_inside.h"

/** 0 or -ENOMEM. */
int load_wait_init(struct eh_load *load);
void load_wait_free(struct eh_load *load);
void load_wait_add(struct eh_load *load, uint32_t task);
/** The one of this home that has waited longest, which does not wait any more; LOAD_NONE: there is none. */
uint32_t load_wait_take(struct eh_load *load, uint32_t home);
/** The same of all homes; with EH_LOAD_SHARED. */
uint32_t load_wait_take_oldest(struct eh_load *load);
/** This one does not wait any more. */
void load_wait_drop(struct eh_load *load, uint32_t task);

#endif
