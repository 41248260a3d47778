/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file problem.h  What both readers of the assign planner share. */
#ifndef PLAN_ASSIGN_PROBLEM_H
#define PLAN_ASSIGN_PROBLEM_H

#include "assign.h"

/** Largest work, volume or sum in an input. */
#define ASSIGN_MOST 1e100
/** Sums of whole numbers are exact up to here. */
#define ASSIGN_EXACT 0x1p52

/** Fills in the sums and the unit: values become whole numbers. */
void assign_settle(struct assign_problem *problem);

#endif
