/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a node with credits (eh/idle.h) knows, by the inside of its structs. */
#ifndef UNIT_IDLE_LOOK_H
#define UNIT_IDLE_LOOK_H

#include "eh/idle_inside.h"

/* Credits of a tier that the controller of level 1 on this node could let be taken now. */
unsigned int idle_credits(const struct eh_idle *i, unsigned int tier);

#endif
