/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file sums.h  All runs of a call, and what they did together. */
#ifndef EHSIM_SUMS_H
#define EHSIM_SUMS_H

#include <jansson.h>

#include "arguments.h"

/** A sum and the sum of the squares, for mean and deviation. */
struct sums_moments {
	double sum, squares;
};

struct sums {
	const struct arguments *arguments;
	uint64_t run; /**< the one under way */
	json_t *decisions; /**< empty unless asked for */
	struct sums_moments mpn; /**< controllers probed for an arrival, one value per run */
	struct sums_moments spread; /**< most minus least load of a node in tasks, likewise */
	double total; /**< load in tasks */
	struct eh_tree_counts counts;
	struct protocol protocol;
	uint64_t load_min, load_max; /**< of all runs, in thousandths */
	uint64_t refusal_min, refusal_max; /**< total load at the first refusal, likewise */
	size_t bytes; /**< memory of a tree */
	double seconds; /**< by the clock */
	double cpu; /**< seconds of processor time */
};

/** Makes all runs. 0, or an exit code after a message. sums_free() either way. */
int sums_run(struct sums *s, const struct arguments *a);
void sums_free(struct sums *s);
/** Standard deviation over `n` runs, of the sample (n - 1); 0 for one run. */
double sums_deviation(const struct sums_moments *m, uint64_t n);

#endif
