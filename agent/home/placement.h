/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file placement.h
 * Finds a place for a task: asks the hierarchy, reserves on an executor, gives the verdict.
 * record.h has the data, outcome.h what becomes of it.
 */
#ifndef AGENT_HOME_PLACEMENT_H
#define AGENT_HOME_PLACEMENT_H

#include <jansson.h>
#include <linux/ehsched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "home/placement_task.h"

struct agent;

struct placement; /* owned by record.c */

/** Seeks a place; `decided` is called once, perhaps before this returns. 0; -ENOMEM: it is not. */
int placement_start(struct agent *agent, const struct placement_task *task, placement_fn decided,
		    void *ctx);
/** The node that a placement_send_fn has asked answers, as to POST /v1/reserve; status 0: it does not. */
void placement_answered(struct placement *p, int status, const json_t *reply);
/** Nobody waits for it any more, instead of placement_answered(). */
void placement_cancel(struct placement *p);
/**
 * Claims the placement whose handle (the cookie, in decimal) a stub brings. Everybody can read the
 * handle, so only the process that the kernel asked about may claim it. NULL: *reason is why.
 */
struct placement *placement_claim(struct agent *agent, const char *handle, pid_t pid, uid_t uid,
				  enum ehs_reason *reason);

#endif
