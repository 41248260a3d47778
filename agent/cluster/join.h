/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file join.h
 * The newcomer's side of a join: finds a member that gives this host its place (code, topology,
 * roster). Until then the agent does nothing else.
 */
#ifndef AGENT_CLUSTER_JOIN_H
#define AGENT_CLUSTER_JOIN_H

#include "cluster/roster.h"

struct agent;

/**
 * Runs the event loop until this host has a place. Completes agent->config. *roster: in, the
 * saved one (NULL: none), which is taken over; out, the cluster's. If no member answers but the
 * saved roster has this host, that one is used.
 * 0; -EINTR: agent_end() was called; -EINVAL, with a message: the configuration does not fit the
 * cluster; -ENOMEM.
 */
int join_run(struct agent *agent, struct roster **roster);
/** Why it has no place yet, for people. */
const char *join_trouble(const struct agent *agent);

#endif
