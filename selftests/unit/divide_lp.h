/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The definition of a schedule in docs/planners.md, word by word, as a linear programme: a variable
 * for each share and each start. What is not linear is settled by the caller: who has work, and on
 * which links results go before data.
 */
#ifndef UNIT_DIVIDE_LP_H
#define UNIT_DIVIDE_LP_H

#include "plan/divide/divide.h"

#define LP_MAX 16

struct lp_case {
	const struct divide_problem *p;
	bool has[LP_MAX]; /* work */
	bool results_first[LP_MAX]; /* on this link */
};

/* The earliest end, INFINITY when GLPK says there is none. */
double lp_solve(const struct lp_case *c);

#endif
