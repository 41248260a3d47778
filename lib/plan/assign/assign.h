/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file assign.h
 * Tasks that communicate, placed on processors (paper 0, "A processor allocation algorithm in
 * parallel computing of homogeneous workstation cluster systems").
 *
 * The cost of processor k is f_k = sum of the work of its tasks + all volume between a task on it
 * and a task elsewhere (definitions 2.4 to 2.7; a cut pair counts once on each side). The goal is
 * the least max_k f_k (cost2 of section 2.1).
 *
 * With the extension of section 3.3: f_k = sum of B_0*work/speed_k + sum of B_j*volume/S_kj,
 * where j is the other task's processor and S_kj the speed of the link.
 *
 * Works and volumes are whole numbers in doubles, so that all sums of them are exact. The values of
 * the input are `unit` times as large (`unit` is 1 if the input has whole numbers).
 */
#ifndef PLAN_ASSIGN_H
#define PLAN_ASSIGN_H

#include "plan/names.h"
#include "plan/plan.h"

#define ASSIGN_TASKS_MAX (1u << 24)
#define ASSIGN_PROCESSORS_MAX (1u << 17)
/** Processors that differ: they need tables of their square. */
#define ASSIGN_MACHINE_MAX 2048u

/** Processors that are not all alike. */
struct assign_machine {
	double *compute; /**< B_0/speed_k: costs of a unit of work on k */
	double *talk; /**< [k * processors + j], B_j/S_kj: costs on k of a unit to j; 0 for j = k */
};

struct assign_problem {
	uint32_t tasks, processors;
	/** Neighbours of task u: to[start[u]] to to[start[u + 1] - 1], ascending; each pair
	 *  twice. */
	uint32_t *start, *to;
	double *volume; /**< beside `to` */
	double *work;
	double unit;
	double total_work, total_volume; /**< each pair once */
	struct assign_machine *machine; /**< NULL: alike, and all factors 1 */
	struct plan_names *task_names; /**< NULL: "1", "2", … */
	struct plan_names *processor_names; /**< NULL: "P1", "P2", … */
	uint32_t *cores; /**< of each processor, 0 unknown; NULL: all unknown */
};

/** Values that an input may leave out. */
struct assign_defaults {
	uint32_t processors; /**< 0: the input must have it; else it goes before a number there */
	double work, volume; /**< negative: JSON must have them, METIS means 1 */
};

/** A plan with its costs. */
struct assign_plan {
	uint32_t *at; /**< processor of each task */
	double *work, *talk, *cost; /**< of each processor; cost = work + talk */
	double total; /**< largest cost */
	double lower_bound; /**< no assignment costs less */
	bool optimal;
};

/* ---- problem.c, json.c, metis.c: 0, -EINVAL with the refusal, or -ENOMEM ---- */

/** Our own format (docs/planners.md). */
int assign_read_json(const char *text, size_t length, const struct assign_defaults *defaults,
		     struct assign_problem **out, struct plan_refusal *refusal);
/** A METIS graph; weights are works and volumes. Refusals have their line. */
int assign_read_metis(const char *text, size_t length, const struct assign_defaults *defaults,
		      struct assign_problem **out, struct plan_refusal *refusal);
/** Whether a text looks like a METIS graph. */
bool assign_is_metis(const char *text, size_t length);
void assign_free(struct assign_problem *problem);
/** The id of a task; `buffer` has room for 24 bytes. */
const char *assign_task(const struct assign_problem *problem, uint32_t task, char *buffer);
const char *assign_processor(const struct assign_problem *problem, uint32_t processor,
			     char *buffer);

/* ---- plans ---- */

/** All tasks on the processor that is best for that; NULL: no memory. */
struct assign_plan *assign_plan_new(const struct assign_problem *problem);
void assign_plan_free(struct assign_plan *plan);
/** Computes work, talk, cost and total from `at`. */
void assign_evaluate(const struct assign_problem *problem, struct assign_plan *plan);

/** Called after each step with the task, its processor, and f of all processors so far. */
typedef void assign_step(void *ctx, uint32_t task, uint32_t processor, const double *f);

/** Section 3.1: each task goes to the processor whose own f grows least, the lowest index on ties.
 *  Tasks are taken in the order of the input or, `sorted`, by work + all volume, largest first.
 *  `step` may be NULL. 0 or -ENOMEM. */
int assign_paper(const struct assign_problem *problem, bool sorted, struct assign_plan *plan,
		 assign_step *step, void *ctx);

/** The best plan of several searches; ends by steps, so that a seed repeats it. 0 or -ENOMEM. */
int assign_best(const struct assign_problem *problem, uint64_t seed, struct plan_watch *watch,
		struct assign_plan *plan);

/** Improves `plan` to a best one by branch and bound. 1: proved; 0: ended by the watch, or after
 *  `nodes` if that is not 0; -ENOMEM. If processors differ, costs within a relative 1e-9 count as
 *  equal. */
int assign_exact(const struct assign_problem *problem, uint64_t nodes, struct plan_watch *watch,
		 struct assign_plan *plan);

/** A lower bound on the cost of all plans, in the units of the problem. 0 or -ENOMEM. */
int assign_bound(const struct assign_problem *problem, double *bound);

/** Recomputes a plan from the problem alone: 0, -EINVAL with what is wrong, or -ENOMEM. */
int assign_check(const struct assign_problem *problem, const struct assign_plan *plan,
		 struct plan_refusal *wrong);

#endif
