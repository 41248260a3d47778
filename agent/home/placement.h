/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file placement.h
 * Finds a place for a task: asks the hierarchy, reserves on an executor, gives the verdict; then
 * keeps track of what became of it. record.h has the data.
 */
#ifndef AGENT_HOME_PLACEMENT_H
#define AGENT_HOME_PLACEMENT_H

#include <jansson.h>
#include <linux/ehsched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "home/placement_task.h"
#include "wire/view.h"

struct agent;

struct frame_exit;
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
/** NULL while there is none, and when the task stays. */
struct peer *placement_executor(const struct placement *p);
/** Names the reservation to the executor. */
const char *placement_token(const struct placement *p);
/**
 * The view of the task; final once decided. VIEW_AUTO: the executor's unless a named file differs.
 */
enum view placement_view(const struct placement *p);
/** Why it ended as it did, in a sentence; never NULL. */
const char *placement_text(const struct placement *p);
const char *placement_id(const struct placement *p); /* "0.1:42" */
/** Record what became of it, for `tasks`, `why`, counters and the controller. */
void placement_started(struct placement *p, pid_t stub, pid_t remote);
void placement_failed(struct placement *p, enum ehs_reason reason); /* it runs at home */
void placement_ended(struct placement *p, int status); /* as from waitpid() */
/* before placement_ended() */
void placement_used(struct placement *p, const struct frame_exit *use);
/* between the nodes, before it is over */
void placement_moved(struct placement *p, uint64_t bytes);
/** It was killed because memory was short: known after placement_ended(). */
void placement_starved(struct placement *p);
void placement_lost(struct placement *p);
void placement_rerun(struct placement *p); /* lost, and run again at home */

/** The number that its stub names it by. */
uint64_t placement_cookie(const struct placement *p);
/** The kernel no longer waited for the verdict on this cookie. */
void placement_too_late(struct agent *agent, uint64_t cookie);
enum ehs_reason placement_reason(const struct placement *p);

#endif
