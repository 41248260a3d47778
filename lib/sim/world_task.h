/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file world_task.h  Tasks of a world: asked about, placed, run, lost. They arrive and end by world.h. */
#ifndef EH_WORLD_TASK_H
#define EH_WORLD_TASK_H

#include "world_inside.h"

/* A failed allocation of uthash must not end the process. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

enum world_task_state { WORLD_TASK_ASKED, WORLD_TASK_STARTING, WORLD_TASK_RUNNING };

struct world_task {
	uint64_t id, size;
	enum world_task_state state;
	bool asked; /* the hierarchy was */
	bool ends; /* as soon as it runs */
	uint32_t home, at;
	unsigned int probes;
	struct eh_probe decider; /* the controller that chose the executor */
	UT_hash_handle hh;
};

/** A task that arrives at its home. NULL: no memory. */
struct world_task *world_task_new(struct eh_world *w, uint64_t id, uint64_t size, uint32_t home);
struct world_task *world_task_find(struct eh_world *w, uint64_t id); /**< NULL: there is none */
/** The task runs at this node; it may end by that. */
void world_task_run(struct eh_world *w, struct world_task *t, uint32_t at,
		    const struct eh_message *answer);
/** A task that runs ends. */
void world_task_end(struct eh_world *w, struct world_task *t);
/** The hierarchy's answer has come to the task's home. */
void world_task_answer(struct eh_world *w, const struct eh_message *msg);
/** No answer has come in time: the task runs at home. */
void world_task_late(struct eh_world *w, uint64_t id);
/** A node dies: its tasks, wherever they run, and its guests are lost. */
void world_task_lose(struct eh_world *w, uint32_t node);
/** Frees all tasks. */
void world_task_free(struct eh_world *w);

#endif
