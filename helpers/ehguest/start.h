/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file start.h  What the program is started with, as its agent says it. */
#ifndef EHGUEST_START_H
#define EHGUEST_START_H

#include <stdint.h>

#include "flow.h"
#include "wire/job.h"

struct launch_start;

#define START_SOCKET 3 /**< to the agent */

/** Until the program has executed. */
struct start {
	uint8_t *job; /**< encoded; NULL: it is over */
	uint32_t length;
	struct job_spec spec;
	struct handed its;
};

/**
 * Receives the job, and before it perhaps a list of files that its arguments name, which are compared. `asked`: what
 * home's agent knows of the job's process, against what that says of itself; NULL: nothing. 0, or -errno: it
 * is not to go on.
 */
int start_receive(struct start *s, const struct launch_start *asked);
void start_over(struct start *s); /**< frees it */

#endif
