/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file anneal.h  Simulated annealing, for small problems without a structure. */
#ifndef PLAN_ASSIGN_ANNEAL_H
#define PLAN_ASSIGN_ANNEAL_H

#include "parts.h"

/** Starts from the assignment of `parts` and leaves the best one it has seen there. Ends after
 *  `steps`, or when the cost is at `bound`. `best` has room for an assignment. */
void assign_anneal(struct assign_parts *parts, uint64_t steps, double bound, uint32_t *best,
		   uint64_t *random, struct plan_watch *watch);

#endif
