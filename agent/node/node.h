/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file node.h
 * This node: load, threshold and state. They are the kernel's when the module
 * is there, else taken from /proc (procload.c) and kept here. The settings
 * outlive the module: one that is loaded later gets them.
 */
#ifndef AGENT_NODE_NODE_H
#define AGENT_NODE_NODE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/config.h"
#include "eh/eh.h"
#include "node/kernel.h"

struct agent;

/** Tasks of other rooms that count here. */
struct node_tasks {
	unsigned int guests, away;
	uint64_t starting; /**< load of guests that are not counted yet, in thousandths of a task */
	uint64_t reserved; /**< the same with reservations that have no guest yet */
};

/** What this node's load and settings lead to; main.c fills it in. */
struct node_ops {
	void (*tasks)(struct agent *agent, struct node_tasks *out);
	void (*changed)(struct agent *agent); /**< load or state */
	void (*threshold)(struct agent *agent); /**< the threshold or its length, whoever set it */
};

int node_init(struct agent *agent,
	      const struct node_ops *ops); /**< from agent->config; 0 or -errno */
void node_exit(struct agent *agent);
/** The configuration was swapped: what it changed is set, the rest stays as users and controllers set it. */
void node_reload(struct agent *agent, const struct config *old);

const struct node_settings *node_settings(struct agent *agent);
/** Changes what is in force. 0, or -errno with a text for the user in why[]. */
int node_set(struct agent *agent, const struct node_settings *to, char why[160]);

const struct node_view *node_view(struct agent *agent);
/** Load with reservations. */
uint64_t node_load(struct agent *agent);
/** The load has not been below the threshold for the dwell time: ok, not yet a receiver. */
bool node_dwells(struct agent *agent);
/** Reads the load anew, if the last reading is older than a few milliseconds or reservations changed. */
void node_refresh(struct agent *agent);

/** The module came (settings are to be put into it) or went. */
void node_module_changed(struct agent *agent);
/** The module's own notification: load and counts as of now. */
void node_seen(struct agent *agent, const struct node_view *view);
/** The module's word on the load alone. */
void node_loaded(struct agent *agent, uint32_t load);
/** Something that is part of its report has changed. */
void node_touch(struct agent *agent);
unsigned int node_guests(struct agent *agent);
unsigned int node_away(struct agent *agent);

#endif
