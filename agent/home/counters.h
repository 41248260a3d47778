/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file counters.h
 * How many tasks of this node ran where, and why. These are counters, not samples, so that short
 * tasks are seen. "Where" counts since the agent started, the module's reasons since it was loaded.
 */
#ifndef AGENT_HOME_COUNTERS_H
#define AGENT_HOME_COUNTERS_H

#include <jansson.h>
#include <linux/ehsched.h>
#include <stdbool.h>

struct agent;

struct peer;

int counters_init(struct agent *agent); /**< 0 or -ENOMEM */
void counters_exit(struct agent *agent);

/** Counts a task of this node that has started on `executor` for this reason. */
void counters_started(const struct peer *executor, enum ehs_reason reason);
/** Counts an exec about which the module has asked, and which stays for this reason. */
void counters_stays(struct agent *agent, enum ehs_reason reason);

/** Adds "placed":[{"executor","tasks"}] and "reasons":[{"reason","tasks"}]. */
void counters_add(struct agent *agent, json_t *status);

#endif
