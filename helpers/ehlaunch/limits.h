/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file limits.h
 * What a guest may have of the host: what its home says of limits, priorities and capabilities is
 * reduced to that. No system calls.
 */
#ifndef EHLAUNCH_LIMITS_H
#define EHLAUNCH_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/launch.h"

/**
 * Reduces a request. `hard`: the hard limits of this process, none of which is raised; allow_root: the
 * site runs root's tasks, so that root at home may all that it may here.
 */
void limits_reduce(struct launch_start *q, const uint64_t hard[JOB_RLIMITS], bool allow_root);
#define LIMITS_CPU_TEXT 32
/** The line of cpu.max for a percentage of one processor. */
void limits_cpu(unsigned int percent, char out[LIMITS_CPU_TEXT]);

#endif
