/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file load_measure.h  Means, percentiles and fairness of a run. */
#ifndef EH_LOAD_MEASURE_H
#define EH_LOAD_MEASURE_H

#include "load.h"

struct load_measure;

/** For this many nodes. NULL: no memory. */
struct load_measure *load_measure_new(uint32_t nodes);
void load_measure_free(struct load_measure *m);
/** A task has ended that arrived at `home`, computed for `work` and took `response`. */
void load_measure_add(struct load_measure *m, uint32_t home, double work, double response);
/** Fills in what was measured. */
void load_measure_result(const struct load_measure *m, struct eh_load_result *result);

#endif
