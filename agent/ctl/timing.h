/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file timing.h
 * What `ehctl why --timing` says: when the steps of a task were, at home and on the executor.
 */
#ifndef AGENT_CTL_TIMING_H
#define AGENT_CTL_TIMING_H

#include <jansson.h>

struct agent;

/** Gives the reply back. */
typedef void (*timing_done_fn)(void *ctx, json_t *reply_stolen);
/** Adds `timing` to the reply to `why` of a task that is known here, after its executor has been asked;
 *  `done` is called once, perhaps at once. The caller has seen that the task may be shown. */
void timing_find(struct agent *agent, json_t *reply_stolen, timing_done_fn done, void *ctx);
/** Adds `timing` to what the history knows, which has none. */
void timing_past(json_t *reply);

#endif
