/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file leave.h
 * `ehctl leave`: this host leaves the cluster for good.
 */
#ifndef AGENT_CLUSTER_LEAVE_H
#define AGENT_CLUSTER_LEAVE_H

#include <stdbool.h>

struct agent;

/** Drains the node; when no guest is here and no task of it away, or at once (`now`), tells the cluster and
 *  ends the agent. */
void leave_start(struct agent *agent, bool now);
void leave_exit(struct agent *agent);

#endif
