/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file timing.h
 * What `ehctl why --timing` says: when the steps of a task were, at home and on the executor.
 */
#ifndef AGENT_CTL_TIMING_H
#define AGENT_CTL_TIMING_H

#include <jansson.h>

struct ctl_conn;

/** Adds `timing` to the reply to `why` of a task that is known here, and replies, after its executor
 *  has been asked. The caller has seen that the task may be shown. */
void timing_reply(struct ctl_conn *c, json_t *reply_stolen);
/** Adds `timing` to what the history knows, which has none. */
void timing_past(json_t *reply);

#endif
