/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file table.h
 * What runs of programs cost, as far as it is remembered: time, processor time, memory and bytes
 * moved, for each user and program (key.h), apart for runs here and elsewhere; and what a transfer to
 * each host costs the user. Each figure has a mean and a mean deviation in which the last eight runs
 * weigh most. Runs count half after a week without one.
 *
 * It is bounded. When it is full, the user who has the most entries loses the one that was not used for
 * longest; so a user who has fewer than others keeps all, whatever these run. Of more than 256 users
 * the one who ran nothing for longest is forgotten. Nothing else that a user does is seen in what is
 * expected of another one's tasks.
 *
 * Whole numbers only, and no clock: `now` is seconds since 1970, and may go back.
 */
#ifndef COST_TABLE_H
#define COST_TABLE_H

#include "cost/cost.h"

struct cost_table;

struct cost_table *cost_new(void); /**< NULL: out of memory */
void cost_free(struct cost_table *table);

/** A run has ended. Without memory for it it is not remembered. */
void cost_ran(struct cost_table *table, uint32_t uid, uint64_t key, enum cost_place place,
	      const struct cost_run *run, int64_t now);
/** From the question where a task is to run to its start on `host`. */
void cost_transferred(struct cost_table *table, uint32_t uid, const char *host, uint64_t us,
		      int64_t now);
/**
 * A run on `host` had a processor for itself. It is compared with the time that such runs take alone
 * here, if that is known, and if anything was transferred to the host. Of one that computes for less
 * than a quarter of that time nothing is learned: it waits, for whatever it may be.
 */
void cost_compared(struct cost_table *table, uint32_t uid, uint64_t key, const char *host,
		   const struct cost_run *run, int64_t now);
/**
 * How long this user's programs take on `host`, for each 1000 that they take alone here: what is so
 * whatever chance had in it, which is their mean less three mean deviations of such a mean. 0: not known.
 */
unsigned int cost_slowness(const struct cost_table *table, uint32_t uid, const char *host,
			   int64_t now);
/**
 * Whether such a run is to be on `host` to see if that is still slow: true once an hour in which this
 * user had none there, of a run that can be compared. So what was learned by chance is corrected, for a
 * task an hour.
 */
bool cost_retries(struct cost_table *table, uint32_t uid, uint64_t key, const char *host,
		  int64_t now);
/** Whether anything is expected of such a run of this user. */
bool cost_expect(const struct cost_table *table, uint32_t uid, uint64_t key, int64_t now,
		 struct cost_expected *out);
/**
 * The most memory that such a run may take, in KiB: mean and two deviations, of whichever place needs
 * more. One run is enough, as a wrong guess costs no more than another node. 0: not known.
 */
uint64_t cost_memory(const struct cost_table *table, uint32_t uid, uint64_t key, int64_t now);
/**
 * A run elsewhere was killed because memory was short, when it had `memory_kib` (0: not known). At least
 * half as much again is expected from now on; of what was expected before, if that is not known.
 */
void cost_starved(struct cost_table *table, uint32_t uid, uint64_t key, uint64_t memory_kib,
		  int64_t now);
/**
 * Whether it should not be transferred. That costs a transfer if it is wrong; to keep a long task on
 * an overloaded node has no such bound. So it is short only if nearly all runs are (most_us).
 */
bool cost_is_short(const struct cost_expected *e);

unsigned int cost_count(const struct cost_table *table); /**< entries */

#endif
