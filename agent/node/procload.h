/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file procload.h
 * Load of this machine from /proc, where there is no module to say it.
 */
#ifndef AGENT_NODE_PROCLOAD_H
#define AGENT_NODE_PROCLOAD_H

#include <stdint.h>

int procload_init(void); /**< 0 or -errno */
void procload_exit(void);
void procload_sample(void); /**< to be called each PROCLOAD_MS */
/** Tasks that have just started count at once, and fade as the samples come to show them. */
void procload_boost(unsigned int tasks);
/** Smoothed, thousandths of a task; index: enum ehs_load_index. */
uint32_t procload_get(unsigned int index);

#define PROCLOAD_MS 100

#endif
