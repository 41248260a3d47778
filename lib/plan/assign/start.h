/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file start.h  First plans for large graphs, made by METIS. */
#ifndef PLAN_ASSIGN_START_H
#define PLAN_ASSIGN_START_H

#include "assign.h"

/** Fills `at` with processors 0 to parts - 1. Works are at most `slack` thousandths out of balance;
 *  `recursive`: by recursive bisection instead of k-way. 1; 0 if METIS cannot do it, and `at` is
 *  unchanged; -ENOMEM. */
int assign_start(const struct assign_problem *problem, uint32_t parts, uint32_t slack,
		 bool recursive, uint64_t seed, uint32_t *at);

#endif
