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
 * ehs_state_dwell_left - how long until a node with low load is a receiver
 * @low_since: jiffies when the load became low
 * @dwell: milliseconds it has to stay low
 * @now: jiffies
 *
 * Return: jiffies, 0 when the dwell time is over.
 */
static inline unsigned long ehs_state_dwell_left(unsigned long low_since, u32 dwell,
						 unsigned long now)
{
	unsigned long end = low_since + msecs_to_jiffies(dwell);

	return time_before(now, end) ? end - now : 0;
}

void ehs_state_init(struct ehs_node *node);
enum ehs_state ehs_state_get(const struct ehs_node *node);
void ehs_state_update(struct ehs_node *node);

#endif /* _EHS_STATE_H */
