/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file leave.h
 * `ehctl leave`: this host leaves the cluster for good.
 */
#ifndef AGENT_CLUSTER_LEAVE_H
#define AGENT_CLUSTER_LEAVE_H

#include <stdbool.h>

struct agent;

/**
 * Drains the node. When there are no guests here and no tasks away (with `now`: at once), tells the
 * cluster and ends the agent. Tries again if no member answers; with `now` it ends anyway.
 */
void leave_start(struct agent *agent, bool now);
void leave_exit(struct agent *agent);

#endif
