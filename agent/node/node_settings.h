/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file node_settings.h  What a node is set to, and what is read of it: by the module or from /proc. */
#ifndef AGENT_NODE_NODE_SETTINGS_H
#define AGENT_NODE_NODE_SETTINGS_H

#include <stdint.h>
#include "eh/eh.h"

/**
 * Threshold, length and weight in thousandths of a task, time limit and dwell in ms; the index is
 * an enum ehs_load_index.
 */
struct node_settings {
	uint32_t threshold, length, index, weight, time_limit, dwell;
	/** policy `idle`: the module asks for an exec only if none of so many is free; 0: others */
	uint32_t processors;
};

struct node_view {
	/** thousandths of a task, without reservations for guests that have not started */
	uint32_t load;
	enum eh_state state; /**< the dwell time is taken into account */
	uint32_t local, guest, away; /**< tasks; 0 if the module does not count them */
};

#endif
