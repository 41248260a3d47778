/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file node.h
 * This node: load, threshold and state. They are the kernel's when the module
 * is there, else taken from /proc (procload.c) and kept here. The settings
 * outlive the module: one that is loaded later gets them.
 */
#ifndef AGENT_NODE_NODE_H
#define AGENT_NODE_NODE_H

#include <stdint.h>
#include "base/config.h"
#include "eh/eh.h"

/** Thousandths of a task; milliseconds. */
struct node_settings {
	uint32_t threshold, length, index, weight, time_limit, dwell;
};

struct node_view {
	uint32_t load; /**< without reservations of guests that have not started */
	enum eh_state state; /**< dwell included */
	uint32_t local, guest, away; /**< tasks, when the module counts them */
};

int node_init(void); /**< from the_agent.config; 0 or -ENOMEM */
void node_exit(void);
/** The configuration was swapped: what it changed is set, the rest stays as users and controllers set it. */
void node_reload(const struct config *old);

const struct node_settings *node_settings(void);
/** Changes what is in force. 0, or -errno with a text for the user in why[]. */
int node_set(const struct node_settings *to, char why[160]);

const struct node_view *node_view(void);
/** Load with reservations. */
uint64_t node_load(void);
enum eh_state node_state(void);
/** Reads the load anew, if the last reading is older than a few milliseconds or reservations changed. */
void node_refresh(void);

/** The module came (settings are to be put into it) or went. */
void node_module_changed(void);
/** The module's own notification: load and counts as of now. */
void node_seen(const struct node_view *view);

#endif
