/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file load_sums.h  Runs with service times (--load), and what they say together. */
#ifndef EHSIM_LOAD_SUMS_H
#define EHSIM_LOAD_SUMS_H

#include "sums.h"

/** Means over the runs. */
struct load_sums {
	const struct arguments *arguments;
	uint64_t run; /**< the one under way */
	struct sums_moments response; /**< the mean of a run, likewise */
	struct eh_load_result sum; /**< of all runs; to be divided by their number */
	double seconds; /**< by the clock */
	double cpu; /**< seconds of processor time */
};

/** Makes all runs. 0, or an exit code after a message. */
int load_sums_run(struct load_sums *s, const struct arguments *a);
/** The document of --json. NULL: no memory. */
json_t *load_sums_json(const struct load_sums *s);
/** The same for people. */
void load_sums_print(const struct load_sums *s);

#endif
