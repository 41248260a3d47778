/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_STATE_H
#define _EHS_STATE_H

#include <linux/jiffies.h>

#include "node.h"

/**
 * ehs_state_of - state of a node by its load, without the dwell time
 * @load: load
 * @threshold: threshold
 * @length: threshold length: how far from the threshold the load may be
 *
 * A node is a receiver (takes tasks from others) below threshold - length, a
 * sender (overloaded) above threshold + length, and ok between and on both
 * bounds. Compared as s64 because threshold - length may be negative.
 */
static inline enum ehs_state ehs_state_of(u32 load, u32 threshold, u32 length)
{
	if ((s64)load < (s64)threshold - length)
		return EHS_STATE_RECEIVER;
	if ((s64)load > (s64)threshold + length)
		return EHS_STATE_SENDER;
	return EHS_STATE_OK;
}

/**
 * ehs_state_left - how long until a time is over
 * @since: when it began, 64-bit jiffies
 * @ms: how long it takes, milliseconds
 * @now: 64-bit jiffies
 *
 * It may have begun long ago: 32-bit jiffies would wrap.
 *
 * Return: jiffies, 0 when it is over.
 */
static inline unsigned long ehs_state_left(u64 since, u32 ms, u64 now)
{
	unsigned long all = msecs_to_jiffies(ms);

	return now - since < all ? all - (unsigned long)(now - since) : 0;
}

void ehs_state_init(struct ehs_node *node);
enum ehs_state ehs_state_get(const struct ehs_node *node);
void ehs_state_update(struct ehs_node *node);

#endif /* _EHS_STATE_H */
