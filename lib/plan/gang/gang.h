/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file gang.h
 * How many hosts, and which, for one SPMD job whose parts wait for each other (paper 1):
 *   T(G) = T_s(P) + T_c(P) + T_r(P) + T_o(P) slowdown(eta(G)),  P = |G|
 * load the data, communicate, collect results, compute; eta(G) is the largest utilisation in G.
 * Times are seconds, sizes bytes, utilisations 0..1.
 */
#ifndef PLAN_GANG_H
#define PLAN_GANG_H

#include "plan/names.h"
#include "plan/plan.h"

#define GANG_HOSTS_MAX 10000000

enum gang_kind { GANG_MATMUL, GANG_WAVE, GANG_TABLE };
enum gang_slowdown {
	GANG_PAPER, /**< 1/(1-eta), equation (1) */
	GANG_FAIR, /**< a time-sharing scheduler's: 2 on a busy host (docs/planners.md) */
};

struct gang_problem {
	uint32_t n; /**< hosts */
	double *utilization;
	struct plan_names *names;
	enum gang_kind kind;
	enum gang_slowdown slowdown;
	double alpha, beta; /**< a message of N bytes takes alpha + beta N */
	double t_mult, t_add;
	double size; /**< matmul: rows; wave: points */
	double steps; /**< wave */
	size_t counts; /**< table: entries of each; entry p-1 is for p hosts */
	double *compute, *comm, *load, *collect;
	double min_speedup; /**< 0: none is asked for */
};

/** The parts of T for one number of hosts. */
struct gang_times {
	double load, comm, collect, compute;
};

struct gang_plan {
	uint32_t *order; /**< hosts by utilisation, equal ones as in the input */
	uint32_t count; /**< the first `count` of them are the best set; 0: none is possible */
	uint32_t offered; /**< number of hosts whose utilisation is below the threshold */
	double seconds, speedup;
	double alone; /**< seconds on one idle host */
	double threshold; /**< utilisation from which hosts are not asked; 1 without min_speedup */
	uint32_t nprefixes;
	uint32_t *counts; /**< of each prefix that the model knows */
	double *times; /**< and its seconds; INFINITY on a host that is busy all the time */
};

/** From a JSON document (docs/planners.md). Free with gang_problem_end(), also after an error. */
int gang_problem_read(struct gang_problem *problem, const char *text, size_t length,
		      struct plan_refusal *refusal);
void gang_problem_end(struct gang_problem *problem);

/** The slowdown of a host with this utilisation (equation (1) for GANG_PAPER). */
double gang_slow(enum gang_slowdown slowdown, double utilization);
/** The times on `count` hosts (section 1). False: the model does not cover this number. */
bool gang_times(const struct gang_problem *problem, uint32_t count, struct gang_times *out);

/** Chooses the best set of hosts: the k least used hosts are the best k, so one pass over k is
 *  exact. 0, -ENOMEM, or -ERANGE: no set is as fast as min_speedup asks (a negative
 *  plan->threshold: not even all hosts when they are idle). Free with gang_plan_end(), also after
 *  an error. */
int gang_plan(struct gang_plan *plan, const struct gang_problem *problem);
void gang_plan_end(struct gang_plan *plan);

/** Recomputes a plan from the problem; false with a sentence in `why`. */
bool gang_check(const struct gang_plan *plan, const struct gang_problem *problem, char *why,
		size_t size);

#endif
