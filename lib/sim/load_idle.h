/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file load_idle.h
 * Credits in the whole tree (eh/credit.h is one node's part). A node of c processors gives c credits of
 * tier 0 for free processors, c of tier 1 for a second task on each, and so on: with t tasks those of
 * (k+1)c - t are left. Each controller knows which of its children have some of a tier. An exec's ask
 * climbs to the first controller that has one below it, and goes down to it.
 */
#ifndef EH_LOAD_IDLE_H
#define EH_LOAD_IDLE_H

#include "load_inside.h"

#define LOAD_TIERS 2

/** All nodes are free. NULL: no memory. */
struct load_idle *load_idle_new(const struct eh_load_options *options);
void load_idle_free(struct load_idle *idle);
size_t load_idle_bytes(const struct load_idle *idle);
/** The controllers learn that the node has this many credits of the tier more, or less. */
void load_idle_change(struct eh_load *load, uint32_t node, unsigned int tier, int32_t more);
/** Takes the credit of this tier that is nearest to home: its node, or LOAD_NONE. `from`: the level of
 *  the first controller that is asked; that one has the ask already. */
uint32_t load_idle_take(struct eh_load *load, uint32_t home, unsigned int tier,
			unsigned int *asked);
/** The node has a task more or less: counts the reports of groups (eh/report.c has the rule). */
void load_idle_moved(struct eh_load *load, uint32_t node, int32_t more);

#endif
