/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file handoff.h
 * Tasks of this node that are away: connects the stub, its descriptors and the job's stream.
 */
#ifndef AGENT_HOME_HANDOFF_H
#define AGENT_HOME_HANDOFF_H

#include <stdbool.h>
#include <sys/types.h>

struct agent;
struct peer;

int handoff_init(struct agent *agent); /**< 0 or -ENOMEM */
/** Ends all of them; their stubs see the connection close. */
void handoff_exit(struct agent *agent);
unsigned int handoff_count(const struct agent *agent);
/** Whether this peer runs a task of this user that sees home's files. */
bool handoff_shows_home(const struct peer *to, uid_t uid);

#endif
