/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file value.h  Numbers of tasks and names of nodes, in options and traces. */
#ifndef EHSIM_VALUE_H
#define EHSIM_VALUE_H

#include <stdint.h>

#include "eh/topology.h"

/** A number of tasks with decimals, "1.5", into thousandths of a task, rounded.
 *  0, or -EINVAL (also above `max`, in thousandths). */
int value_tasks(const char *text, uint64_t max, uint64_t *out);
/** A node by its index, or by its code if there is a dot in it or a zero in front. 0 or -EINVAL. */
int value_node(const struct eh_topology *topology, const char *text, uint32_t *out);

#endif
