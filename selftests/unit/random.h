/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random numbers of tests: another seed each time, printed; EHS_SEED=N repeats a run. */
#ifndef UNIT_RANDOM_H
#define UNIT_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

void random_begin(void);
uint64_t random_64(void);

/* 0..n-1 */
uint64_t random_below(uint64_t n);
double random_between(double low, double high);
bool random_one_in(unsigned int n);

#endif
