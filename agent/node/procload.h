/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file procload.h
 * Load of this machine from /proc, where there is no module to say it.
 */
#ifndef AGENT_NODE_PROCLOAD_H
#define AGENT_NODE_PROCLOAD_H

#include <stdint.h>

struct agent;

int procload_init(struct agent *agent); /**< 0 or -errno */
void procload_exit(struct agent *agent);
void procload_sample(struct agent *agent); /**< to be called each PROCLOAD_MS */
/** Tasks that have just started count at once, and fade as the samples come to show them. */
void procload_boost(struct agent *agent, unsigned int tasks);
/** Smoothed, thousandths of a task; index: enum ehs_load_index. */
uint32_t procload_get(struct agent *agent, unsigned int index);

#define PROCLOAD_MS 100

#endif
