/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file load_node.h  Tasks on the processors of a node, and when they end. */
#ifndef EH_LOAD_NODE_H
#define EH_LOAD_NODE_H

#include "load_inside.h"

/** The task begins on this node, or waits there if `queue` is set and no processor is free. */
void load_node_start(struct eh_load *load, uint32_t node, uint32_t task);
/** The next end of a task up to `until`: its node, or LOAD_NONE; the time is now that of the end. */
uint32_t load_node_due(struct eh_load *load, double until);
/** Takes the task that ends now from its node; one that waits begins. */
uint32_t load_node_end(struct eh_load *load, uint32_t node);

#endif
