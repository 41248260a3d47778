/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file divide.h
 * One divisible load on a one-way ring (paper 2). docs/planners.md defines a valid schedule.
 * Processor 0 here is the paper's P_1; link i leads from processor i to i+1, link n-1 back to
 * processor 0. Times are seconds, volumes are the input's units of work.
 */
#ifndef PLAN_DIVIDE_H
#define PLAN_DIVIDE_H

#include "plan/names.h"
#include "plan/plan.h"

enum divide_result { DIVIDE_NONE, DIVIDE_LINEAR, DIVIDE_POWER };

struct divide_problem {
	uint32_t n;
	bool serial; /**< a processor sends data before it computes, else meanwhile */
	enum divide_result result;
	double work;
	double m, b; /**< linear: R = mW + b of a processor with W > 0 */
	double k, e; /**< power: R = kW^e */
	double *a; /**< A_i, seconds for a unit of work */
	double *s; /**< S_i, seconds to start a message on link i */
	double *c; /**< C_i, seconds for a unit over link i */
	struct plan_names *names;
};

/** What keeps a processor or a link busy; nothing does when `volume` is negative. */
struct divide_span {
	double start, finish, volume;
};

struct divide_plan {
	double *shares; /**< W_i */
	double seconds; /**< the finish time */
	double lower_bound; /**< on the finish time of all plans, proved by the search */
	double residual; /**< of the sum of the shares and, without results, of the equations */
	double formula; /**< printed only: finish time by the paper's formula */
	bool optimal; /**< seconds and lower_bound agree to 1e-6 */
	uint32_t used; /**< processors with work */
	bool *results_first; /**< on link i results go before data */
	uint64_t steps; /**< systems solved */
	struct divide_span *compute, *data, *results; /**< of processor i and of link i */
};

/** From a JSON document (docs/planners.md). Free with divide_problem_end(), also after an error. */
int divide_problem_read(struct divide_problem *problem, const char *text, size_t length,
			struct plan_refusal *refusal);
void divide_problem_end(struct divide_problem *problem);

/** R of a processor with this share; 0 without work. */
double divide_result_of(const struct divide_problem *problem, double share);

/** Makes the best plan. 0 or -ENOMEM. Free with divide_plan_end(), also after an error. */
int divide_plan(struct divide_plan *plan, const struct divide_problem *problem,
		struct plan_watch *watch);
/** Solves the systems of paper 2 as they are printed, with work for all processors. 0, -ENOMEM, or
 *  -EDOM: no solution has only shares that are not negative. */
int divide_printed(struct divide_plan *plan, const struct divide_problem *problem);
void divide_plan_end(struct divide_plan *plan);

/** Whether a plan is a valid schedule with this finish time; false with a sentence in `why`. */
bool divide_check(const struct divide_plan *plan, const struct divide_problem *problem, char *why,
		  size_t size);

#endif
