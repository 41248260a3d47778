/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_SEEN_H
#define _EHS_SEEN_H

#include <linux/types.h>

/**
 * struct ehs_seen - what one look at the host has seen
 * @threads: threads looked at, or processors
 * @load: busy processors, thousandths
 * @counted: runnable threads, or nanoseconds that processors worked
 * @cost: time it took by the clock, ns
 * @whole: it was not given up
 */
struct ehs_seen {
	u32 threads;
	u32 load;
	u64 counted;
	u64 cost;
	bool whole;
};

#endif /* _EHS_SEEN_H */
