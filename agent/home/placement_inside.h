/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file placement_inside.h  What placement.c does once placement_seek.c has a place, or none. */
#ifndef AGENT_HOME_PLACEMENT_INSIDE_H
#define AGENT_HOME_PLACEMENT_INSIDE_H

#include <stdbool.h>
#include <linux/ehsched.h>

#include "home/record.h"

/** Whether it is still to be decided: an answer that comes while it is being decided is too late. */
static inline bool placement_is_open(const struct placement *p)
{
	return p->phase == PLACEMENT_OPEN && p->decided;
}

/** It stays here for this reason; `text` for people, NULL: the reason's own. */
void placement_stay(struct placement *p, enum ehs_reason reason, const char *text);
/** p->to is set: reserves there as soon as the program is known. */
void placement_ready(struct placement *p);
/** Of its time limit, in ms; at least 1. */
unsigned int placement_time_left(const struct placement *p);

#endif
