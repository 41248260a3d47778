/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file placement_task.h  What a placement is asked for, and the one that is told of the outcome. */
#ifndef AGENT_HOME_PLACEMENT_TASK_H
#define AGENT_HOME_PLACEMENT_TASK_H

#include <linux/ehsched.h>
#include <stdint.h>
#include <sys/types.h>
#include "wire/view.h"

struct peer;
struct placement;

/** What is known of the task when a placement is asked for. */
struct placement_task {
	uint64_t cookie; /* kernel's, or 0: a number of the agent's own */
	pid_t pid; /* for /proc/PID/cwd, credentials */
	uid_t uid;
	const char *path; /* program */
	uint64_t cgroup_id;
	unsigned int time_ms; /* the answer must be there by then */
	const char *node; /* NULL: ask the hierarchy; else this code */
	enum view view; /* VIEW_UNSET: its session's, or the site's */
};

/** The decision: `to` is NULL when the task stays. */
typedef void (*placement_fn)(void *ctx, struct placement *p, struct peer *to, const char *token,
			     enum ehs_reason reason);

#endif
