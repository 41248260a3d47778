/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file learn.h
 * The time of a job on a number of idle hosts, from earlier runs:
 *   seconds(P) = shared/P + fixed + each P
 * what the hosts share, what takes as long on any number of them, and what each of them adds.
 */
#ifndef PLAN_GANG_LEARN_H
#define PLAN_GANG_LEARN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gang.h"

struct gang_sample {
	uint32_t count; /**< hosts; no number twice */
	double seconds;
};

struct gang_curve {
	double shared, fixed, each; /**< none is negative */
};

/** The curve with the least relative errors, of those with as many terms as there are samples at most.
 *  False: fewer than two samples, or none fits. */
bool gang_learn(const struct gang_sample *samples, size_t n, struct gang_curve *out);
double gang_curve_at(const struct gang_curve *curve, uint32_t count);
/** Seconds on 1 to `hosts` idle hosts into seconds[0], …: what was measured, and of other numbers by
 *  the curve, or as one sample if there is no other. False: no sample, or none fits. */
bool gang_learn_table(const struct gang_sample *samples, size_t n, uint32_t hosts, double *seconds);
/** Seconds on idle hosts, of a run on hosts of which the busiest was used so much. A table without
 *  "comm" of them has the real seconds again on such hosts: nobody knows which part of them a busy
 *  host slows down. */
double gang_learn_idle(enum gang_slowdown slowdown, double real, double utilization);

#endif
