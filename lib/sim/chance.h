/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file chance.h  Random numbers of simulations, the same from a seed on every machine. */
#ifndef EH_CHANCE_H
#define EH_CHANCE_H

#include "eh/rule.h"

/** From 0 to below 1. */
static inline double chance_uniform(uint64_t *random)
{
	return (double)(eh_random(random) >> 11) * 0x1p-53;
}

/** Of mean 1, by comparisons alone (von Neumann 1951): without a logarithm, whose last digit differs
 *  between libraries, a seed repeats its run everywhere. */
static inline double chance_exponential(uint64_t *random)
{
	for (unsigned int whole = 0;; whole++) {
		double first = chance_uniform(random), last = first, next = chance_uniform(random);
		unsigned int length = 1;

		while (next < last) {
			length++;
			last = next;
			next = chance_uniform(random);
		}
		if (length % 2)
			return whole + first;
	}
}

#endif
