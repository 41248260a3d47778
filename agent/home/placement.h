/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file placement.h
 * A task's way out of here: ask the hierarchy, reserve on an executor, give the
 * verdict; then what became of it. What a placement has on record is in record.h.
 */
#ifndef AGENT_HOME_PLACEMENT_H
#define AGENT_HOME_PLACEMENT_H

#include <linux/ehsched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "home/placement_task.h"
#include "wire/view.h"

struct agent;

struct placement; /* id, executor, token, reason, steps; kept by record.c */

/** `decided` is called exactly once, perhaps at once. */
int placement_start(struct agent *agent, const struct placement_task *task, placement_fn decided,
		    void *ctx);
/** The reservation behind a token this node's stubs bring; NULL: unknown or over. */
struct placement *placement_by_token(struct agent *agent, const char *token);
struct peer *placement_executor(const struct placement *p);
/** Whose task it is: a stub of another user may not use its token. */
uid_t placement_uid(const struct placement *p);
/** Whose files it sees: known once it is decided. AUTO: the executor's, unless what it names differs. */
enum view placement_view(const struct placement *p);
/** A sentence on why it ended as it did; never NULL. */
const char *placement_text(const struct placement *p);
const char *placement_id(const struct placement *p); /* "0.1:42" */
/** What became of it: for `tasks`, `why`, counters and the controller. */
void placement_started(struct placement *p, pid_t stub, pid_t remote);
void placement_failed(struct placement *p, enum ehs_reason reason); /* ran at home */
void placement_ended(struct placement *p, int status); /* waitpid's, or lost */
void placement_lost(struct placement *p);
void placement_rerun(struct placement *p); /* lost, and runs again at home */

uint64_t placement_cookie(const struct placement *p);
/** The kernel did not wait for the verdict on this cookie any more. */
void placement_too_late(struct agent *agent, uint64_t cookie);
enum ehs_reason placement_reason(const struct placement *p);

#endif
