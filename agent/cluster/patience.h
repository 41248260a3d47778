/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file patience.h
 * How long hosts stand offered to one who asks for a gang: at most so long, and what was used comes
 * back slowly, whether the hosts were taken in the end or not.
 */
#ifndef AGENT_CLUSTER_PATIENCE_H
#define AGENT_CLUSTER_PATIENCE_H

#include <stdint.h>

struct patience {
	uint32_t most; /**< ms */
	uint32_t slower; /**< a millisecond comes back after so many */
};

/** What is left, when all of it is back at `back_at`; times in ms. */
static inline uint32_t patience_left(const struct patience *p, uint64_t back_at, uint64_t now)
{
	uint64_t used = back_at > now ? (back_at - now) / p->slower : 0;

	return used < p->most ? p->most - (uint32_t)used : 0;
}

/** Hosts were offered since `from`, and are no longer. */
static inline void patience_spend(const struct patience *p, uint64_t *back_at, uint64_t from,
				  uint64_t now)
{
	uint64_t last = now + (uint64_t)p->most * p->slower;

	*back_at = (*back_at > now ? *back_at : now) + (now - from) * p->slower;
	if (*back_at > last)
		*back_at = last;
}

#endif
