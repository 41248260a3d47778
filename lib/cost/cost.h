/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file cost.h  What a run costs, and the bounds of a table of such costs (table.h). */
#ifndef COST_COST_H
#define COST_COST_H

#include <stdbool.h>
#include <stdint.h>

#define COST_ENTRIES 4096 /**< programs of all users */
#define COST_USERS 256
#define COST_HOSTS 16 /**< that a user's transfers are remembered of */
#define COST_FEW 3 /**< runs after which something is expected */
#define COST_TRANSFERS 2 /**< a task whose time is below that of this many transfers is short */

/** COST_ALONE: here, as long as a processor was there for it; such a run is one of COST_HERE, too. */
enum cost_place { COST_HERE, COST_AWAY, COST_ALONE, COST_PLACES };

/** One run. Times in microseconds, memory in KiB. */
struct cost_run {
	uint64_t time_us;
	bool used; /**< the rest is known, too */
	uint64_t cpu_us, memory_kib, bytes;
};

/** What the next run may cost, by the place of the last one that has enough runs. */
struct cost_expected {
	enum cost_place place;
	uint32_t runs; /**< it is known from; old ones count less */
	uint64_t time_us, most_us; /**< mean; mean + 2 deviations */
	bool used;
	uint64_t cpu_us, memory_kib, bytes;
	uint64_t transfer_us; /**< to the host where that is cheapest; 0: not known */
};

#endif
