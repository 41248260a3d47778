/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file local_task.h
 * Tasks of `ehctl exec --auto` that were placed here. Without the module nothing else counts
 * them; with load index `tasks` the load is they and the guests.
 */
#ifndef AGENT_NODE_LOCAL_TASK_H
#define AGENT_NODE_LOCAL_TASK_H

#include <sys/types.h>

struct agent;

int local_task_init(struct agent *agent); /**< 0 or -ENOMEM */
/** Counts this process until it ends. A process that cannot be watched is not counted. */
void local_task_add(struct agent *agent, pid_t pid);
/** Calls `call` for each of them. */
void local_task_each(struct agent *agent, void (*call)(void *ctx, pid_t pid), void *ctx);
unsigned int local_task_count(struct agent *agent);
void local_task_exit(struct agent *agent);

#endif
