/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file anneal.h  Simulated annealing, for problems that are small and of no shape. */
#ifndef PLAN_ASSIGN_ANNEAL_H
#define PLAN_ASSIGN_ANNEAL_H

#include "parts.h"

/** From the places of `parts`; leaves the best it has seen. `best` has room for them. */
void assign_anneal(struct assign_parts *parts, uint64_t steps, double bound, uint32_t *best,
		   uint64_t *random, struct plan_watch *watch);

#endif
