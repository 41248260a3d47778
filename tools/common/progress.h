/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file progress.h  How long something takes, and how far it is. */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stdint.h>

/** Seconds of a clock, such as CLOCK_MONOTONIC. */
double progress_seconds(int clock);
/** The same of CLOCK_MONOTONIC. */
double progress_now(void);
/** If standard error is a terminal: shows how far it is, in one line that the next call replaces.
 *  The line is removed when done = all. */
void progress_show(const char *what, uint64_t done, uint64_t all);

#endif
