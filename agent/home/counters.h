/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file counters.h
 * How many tasks of this node ran where, and why: counters, not samples, so
 * that short tasks are seen. Since the agent (where) or module (why) started.
 */
#ifndef AGENT_HOME_COUNTERS_H
#define AGENT_HOME_COUNTERS_H

#include <jansson.h>
#include <linux/ehsched.h>

struct agent;

struct peer;

int counters_init(struct agent *agent); /**< 0 or -ENOMEM */
void counters_exit(struct agent *agent);

/** A task of ours has started there, for this reason. */
void counters_started(const struct peer *executor, enum ehs_reason reason);

/** Adds "placed":[{"executor","tasks"}] and "reasons":[{"reason","tasks"}]. */
void counters_add(struct agent *agent, json_t *status);

#endif
