/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file start.h  First plans for large graphs. */
#ifndef PLAN_ASSIGN_START_H
#define PLAN_ASSIGN_START_H

#include "assign.h"

/** With processors 0 to parts - 1, works `slack` thousandths out of balance at most,
 *  by halves of halves or in one go. 1; 0 where
 *  METIS cannot help, and `at` is as it was; -ENOMEM. */
int assign_start(const struct assign_problem *problem, uint32_t parts, uint32_t slack,
		 bool recursive, uint64_t seed, uint32_t *at);

#endif
