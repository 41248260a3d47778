/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file procload.h
 * Load of this machine from /proc, for nodes without the module.
 */
#ifndef AGENT_NODE_PROCLOAD_H
#define AGENT_NODE_PROCLOAD_H

#include <stdint.h>

struct agent;

int procload_init(struct agent *agent); /**< 0 or -errno */
void procload_exit(struct agent *agent);
void procload_sample(struct agent *agent); /**< to be called every PROCLOAD_MS */
/** Counts tasks that have just started at once; samples replace them over time. */
void procload_boost(struct agent *agent, unsigned int tasks);
/** The smoothed load in thousandths: of a running task, or (EHS_INDEX_CPU) of a busy processor. */
uint32_t procload_get(struct agent *agent, unsigned int index);

#define PROCLOAD_MS 100

#endif
