/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each task of a world (world_steps.h): where it got to, and the messages it took. */
#ifndef UNIT_WORLD_TASKS_H
#define UNIT_WORLD_TASKS_H

#include "world_steps.h"

#define TASKS_MAX 1024

static struct {
	unsigned int placed, lost, messages;
	bool away;
} tasks[TASKS_MAX];
static uint64_t placed, lost;

static inline void count(void *ctx, const struct eh_world_event *e)
{
	const struct eh_message *msg = e->message;

	if (e->type == EH_WORLD_SENT && msg->type == EH_MSG_ASK)
		tasks[msg->ask.id].messages++;
	if (e->type == EH_WORLD_SENT && msg->type == EH_MSG_ANSWER)
		tasks[msg->answer.ask.id].messages++;
	if (e->type == EH_WORLD_SENT && msg->type == EH_MSG_FAILED)
		tasks[msg->failed.id].messages++;
	if (e->type == EH_WORLD_PLACED) {
		placed++;
		tasks[e->id].placed++;
		tasks[e->id].away = e->to != e->node;
	}
	if (e->type == EH_WORLD_LOST) {
		lost++;
		tasks[e->id].lost++;
	}
}

static inline void count_begin(void)
{
	memset(tasks, 0, sizeof(tasks));
	placed = lost = 0;
}

/* Each of the tasks 1..n-1 was placed once, or lost before; up l, back l, a reservation with its
 * answer, and word that it was not used. */
static inline void check_tasks(uint64_t n, unsigned int l)
{
	for (uint64_t id = 1; id < n; id++) {
		assert_true(tasks[id].placed == 1 || (!tasks[id].placed && tasks[id].lost == 1));
		assert_true(tasks[id].lost <= 1);
		assert_true(tasks[id].messages + 2 * tasks[id].away <= 2 * l + 3);
	}
}

#endif
