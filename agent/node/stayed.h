/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file stayed.h
 * Tasks of `ehctl exec --auto` that were placed here. Without the module nothing else counts
 * them; with load index `tasks` the load is they and the guests.
 */
#ifndef AGENT_NODE_STAYED_H
#define AGENT_NODE_STAYED_H

#include <sys/types.h>

struct agent;

int stayed_init(struct agent *agent); /**< 0 or -ENOMEM */
/** Counts this process until it ends. A process that cannot be watched is not counted. */
void stayed_add(struct agent *agent, pid_t pid);
/** Calls `call` for each of them. */
void stayed_each(struct agent *agent, void (*call)(void *ctx, pid_t pid), void *ctx);
unsigned int stayed_count(struct agent *agent);
void stayed_exit(struct agent *agent);

#endif
