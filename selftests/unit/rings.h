/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rings of processors for tests of the divide planner. */
#ifndef UNIT_RINGS_H
#define UNIT_RINGS_H

#include "plan/divide/divide.h"

/* A ring of n, with room for a, s, c behind it. */
struct divide_problem *rings_new(uint32_t n);
void rings_free(struct divide_problem *p);
/* From equal to very unequal, with expensive links too. */
struct divide_problem *rings_random(uint32_t n);
/* A plan that divide_check() takes. */
void rings_plan(struct divide_plan *plan, const struct divide_problem *p);

#endif
