/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file durations.h  How long commands took in earlier runs: $XDG_STATE_HOME/ehsched/durations.json. */
#ifndef EHPLAN_DURATIONS_H
#define EHPLAN_DURATIONS_H

#include <stdint.h>

struct durations;

/** Reads the file. One that cannot be read, or is damaged, is as an empty one. NULL: no memory. */
struct durations *durations_open(void);
/** Seconds of the command with this digest, without what its host needs to start it; below 0: it is
 *  not known. */
double durations_get(const struct durations *d, uint64_t key);
/** A run of it took this long: keeps the mean of this and what was known. */
void durations_put(struct durations *d, uint64_t key, double seconds);
/** Writes the file again, with the 20000 commands that ran last, and frees. A failure is only a
 *  warning: the next plan is worse. */
void durations_close(struct durations *d);

#endif
