/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file world_task.h  Tasks of a world: asked about, placed, run, lost. They arrive and end by world.h. */
#ifndef EH_WORLD_TASK_H
#define EH_WORLD_TASK_H

#include "world_inside.h"

/** The hierarchy's answer has come to the task's home. */
void world_task_answer(struct eh_world *w, const struct eh_message *msg);
/** No answer has come in time: the task runs at home. */
void world_task_late(struct eh_world *w, uint64_t id);
/** The task has got to its executor: it runs there, or at home if that one is dead or cut off. */
void world_task_start(struct eh_world *w, uint64_t id);
/** A node dies: its tasks, wherever they run, and its guests are lost. */
void world_task_lose(struct eh_world *w, uint32_t node);
/** Frees all tasks. */
void world_task_free(struct eh_world *w);

#endif
