/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file ending.h  From the exit of the program to that of the last of its children. */
#ifndef EHGUEST_ENDING_H
#define EHGUEST_ENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "flow.h"

struct ending {
	struct session *session;
	struct flow *flow;
	bool ended; /**< the program */
	bool noted; /**< the agent knows that */
	int64_t noted_by; /**< it is not waited for longer */
};

/** The program has ended. */
void ending_begin(struct ending *e);
/** Says JOB_EXIT and JOB_OVER as soon as nothing must precede them. `childless`: no process is left. */
void ending_step(struct ending *e, bool childless);
int64_t ending_look_at(const struct ending *e); /**< when that has something to do by the clock */

#endif
