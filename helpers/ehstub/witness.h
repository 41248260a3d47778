/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file witness.h  A child in our process group, which tells what was sent to the group from what was sent to us. */
#ifndef EHSTUB_WITNESS_H
#define EHSTUB_WITNESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "helpers/end/calls.h"

struct witness_page;

struct witness {
	pid_t pid; /**< 0 or less: none */
	struct witness_page *page;
	unsigned int asked; /**< number of the last question */
	/** by signal: of those that it saw, told to the task */
	unsigned int used[CALLS_SIGNALS + 1];
};

void witness_start(struct witness *w); /**< all signals are blocked */
/** Whether this signal, which was taken a moment ago, was sent to the group. */
bool witness_saw(struct witness *w, int sig);
void witness_dismiss(struct witness *w); /**< it is not needed any more */
void witness_end(struct witness *w); /**< nothing of it is left */

#endif
