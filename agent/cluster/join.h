/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file join.h
 * The newcomer's side of a join: finds a member that gives this host its place
 * (code, topology, roster). Until then the agent does nothing else.
 */
#ifndef AGENT_CLUSTER_JOIN_H
#define AGENT_CLUSTER_JOIN_H

#include "cluster/roster.h"

struct agent;

/**
 * Runs the event loop until this host has a place: agent->config is completed
 * and *roster (in: what was kept, or NULL) is what the cluster gave. When no
 * member answers and there was a kept roster with this host in it, the agent
 * goes on with that.
 * 0; -EINTR: agent_end() was called; -ENOMEM.
 */
int join_run(struct agent *agent, struct roster **roster);
/** Why it is not done yet, for people. */
const char *join_trouble(const struct agent *agent);

#endif
