// SPDX-License-Identifier: GPL-2.0-or-later
#include "world_tasks.h"

#include <string.h>

struct world_task world_tasks[TASKS_MAX];
uint64_t world_placed;

void world_count(void *ctx, const struct eh_world_event *e)
{
	const struct eh_message *msg = e->message;

	if (e->type == EH_WORLD_SENT && msg->type == EH_MSG_ASK)
		world_tasks[msg->ask.id].messages++;
	if (e->type == EH_WORLD_SENT && msg->type == EH_MSG_ANSWER)
		world_tasks[msg->answer.ask.id].messages++;
	if (e->type == EH_WORLD_SENT && msg->type == EH_MSG_FAILED)
		world_tasks[msg->failed.id].messages++;
	if (e->type == EH_WORLD_PLACED) {
		world_placed++;
		world_tasks[e->id].placed++;
		world_tasks[e->id].away = e->to != e->node;
	}
	if (e->type == EH_WORLD_LOST)
		world_tasks[e->id].lost++;
}

void world_count_begin(void)
{
	memset(world_tasks, 0, sizeof(world_tasks));
	world_placed = 0;
}

void world_check_tasks(uint64_t n, unsigned int l)
{
	for (uint64_t id = 1; id < n; id++) {
		assert_true(world_tasks[id].placed == 1 ||
			    (!world_tasks[id].placed && world_tasks[id].lost == 1));
		assert_true(world_tasks[id].lost <= 1);
		assert_true(world_tasks[id].messages + 2 * world_tasks[id].away <= 2 * l + 3);
	}
}
