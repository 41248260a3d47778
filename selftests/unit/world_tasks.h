/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each task of a world (world_steps.h): where it got to, and the messages it took. */
#ifndef UNIT_WORLD_TASKS_H
#define UNIT_WORLD_TASKS_H

#include "world_steps.h"

#define TASKS_MAX 1024

extern struct world_task {
	unsigned int placed, lost, messages;
	bool away;
} world_tasks[TASKS_MAX];
extern uint64_t world_placed;

void world_count(void *ctx, const struct eh_world_event *e);
void world_count_begin(void);

/* Each of the tasks 1..n-1 was placed once, or lost before; up l, back l, a reservation with its
 * answer, and word that it was not used. */
void world_check_tasks(uint64_t n, unsigned int l);

#endif
