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

#endif
