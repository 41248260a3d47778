/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file node.h
 * Load, threshold and state of this node: the kernel's if the module is loaded, otherwise from
 * /proc (procload.c) and kept here. Settings are kept for a module that is loaded later.
 */
#ifndef AGENT_NODE_NODE_H
#define AGENT_NODE_NODE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/config.h"
#include "eh/eh.h"
#include "node/kernel.h"

struct agent;

/** Tasks that other rooms know of. */
struct node_tasks {
	unsigned int guests, away;
	uint64_t starting; /**< load of guests that have not started, in thousandths of a task */
	uint64_t reserved; /**< `starting` plus reservations that have no guest yet */
};

/** What this node reports, and what it asks. wiring.c fills it in. */
struct node_ops {
	void (*tasks)(struct agent *agent, struct node_tasks *out);
	void (*changed)(struct agent *agent); /**< load, state or counts */
	/** the threshold or its length; any caller of node_set() */
	void (*threshold)(struct agent *agent);
};

/** Starts with the settings of agent->config. 0 or -errno. */
int node_init(struct agent *agent, const struct node_ops *ops);
void node_exit(struct agent *agent);
/**
 * The configuration was replaced. Settings that it changed are set; others stay as users and
 * controllers have set them.
 */
void node_reload(struct agent *agent, const struct config *old);

/** Those in force. */
const struct node_settings *node_settings(struct agent *agent);
/** Changes the settings. 0, or -errno with a text for the user in why[]. */
int node_set(struct agent *agent, const struct node_settings *to, char why[160]);

/** The last reading. */
const struct node_view *node_view(struct agent *agent);
/** Processors that this node has for tasks: its capacity, rounded, at least 1. */
unsigned int node_processors(const struct agent *agent);
/** Load with reservations, in thousandths of a task. */
uint64_t node_load(struct agent *agent);
/** The load is low, but not for the dwell time yet: the node is ok, not a receiver. */
bool node_dwells(struct agent *agent);
/** Reads the load again if the last reading is older than 5 ms or reservations have changed. */
void node_refresh(struct agent *agent);

/** The module was loaded (and has got the settings) or removed. */
void node_module_changed(struct agent *agent);
/** A notification of the module: load, state and counts. */
void node_seen(struct agent *agent, const struct node_view *view);
/** The module's load alone, in thousandths of a task. */
void node_loaded(struct agent *agent, uint32_t load);
/** Another part of this node's report has changed. */
void node_touch(struct agent *agent);
/** Tasks of others that are here, and own ones that are away. */
unsigned int node_guests(struct agent *agent);
unsigned int node_away(struct agent *agent);

#endif
