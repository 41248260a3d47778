/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file guest.h
 * Guests: tasks of other nodes that run here, one for each stream of POST /v1/job.
 */
#ifndef AGENT_EXECUTOR_GUEST_H
#define AGENT_EXECUTOR_GUEST_H

#include <jansson.h>

struct agent;

int guest_init(struct agent *agent); /**< 0 or -ENOMEM */
/** Kills and frees all guests. */
void guest_exit(struct agent *agent);
/** Appends the guests to `tasks`, in the form of `tasks --json`. */
void guest_list(struct agent *agent, json_t *tasks);
/** This guest's cgroup has become empty. */
void guest_emptied(struct agent *agent, const char *id);

#endif
