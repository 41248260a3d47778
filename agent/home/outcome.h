/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file outcome.h
 * What becomes of a placement: recorded for `tasks`, `why`, history, journal, counters and the
 * controller, and told to `ehctl watch`.
 */
#ifndef AGENT_HOME_OUTCOME_H
#define AGENT_HOME_OUTCOME_H

#include <linux/ehsched.h>
#include <stdint.h>
#include <sys/types.h>

struct frame_exit;
struct placement;

/** Tells watchers where it is. */
void outcome_tell(const struct placement *p);
/** It stays here for this reason, and that is its verdict; `text` for people, NULL: the reason's own. */
void outcome_stays(struct placement *p, enum ehs_reason reason, const char *text);
/* The record of what follows is not over yet. */
void outcome_started(struct placement *p, pid_t stub, pid_t remote);
void outcome_failed(struct placement *p, enum ehs_reason reason); /* it runs at home */
void outcome_ended(struct placement *p, int status); /* as from waitpid() */
/* before outcome_ended() */
void outcome_used(struct placement *p, const struct frame_exit *use);
/* between the nodes, before it is over */
void outcome_moved(struct placement *p, uint64_t bytes);
/** It was killed because memory was short: known after outcome_ended(). */
void outcome_starved(struct placement *p);
void outcome_lost(struct placement *p);
void outcome_rerun(struct placement *p); /* lost, and run again at home */

#endif
