/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file plot.h  Curves over the total load, as in figure 3 of paper 4. */
#ifndef EHSIM_PLOT_H
#define EHSIM_PLOT_H

#include "run.h"

/** Draws the mean number of controllers probed for an arrival (MPN, figure 3 of paper 4), and below it
 *  the spread of the loads, as an SVG file. Points are means of `runs` runs. Without a trace it has the
 *  paper's curves, and that of `policy` if it is not one of the paper's.
 *  0, or an exit code after a message. */
int plot_draw(const struct run_options *options, const char *policy, uint64_t seed, uint64_t runs,
	      const char *path);

#endif
