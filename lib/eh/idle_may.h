/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file idle_may.h  Who may say what about credits: a node of its own, a controller of its group. */
#ifndef EH_IDLE_MAY_H
#define EH_IDLE_MAY_H

#include <stdbool.h>
#include <stdint.h>

#include "idle_message.h"
#include "topology.h"

/** Whether a node with this number can ever have reason to send this message to `self`. The driver
 *  knows the number from the sender's certificate. Times and roles are not looked at. */
bool eh_idle_may_say(const struct eh_topology *topology, uint32_t self, uint32_t from,
		     const struct eh_idle_message *msg);

#endif
