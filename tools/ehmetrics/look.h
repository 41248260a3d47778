/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file look.h
 * The last answer of the agent to one question, asked for once however many want it: it asks all nodes.
 */
#ifndef EHMETRICS_LOOK_H
#define EHMETRICS_LOOK_H

#include <event2/event.h>
#include <jansson.h>

struct look;

/** `answer` is the caller's to read only until it returns; NULL: `why` says why. `seconds`: the
 *  agent took that long. */
typedef void (*look_fn)(void *ctx, const json_t *answer, double seconds, const char *why);

/** For a request without members. NULL: no memory. */
struct look *look_new(struct event_base *base, json_t *question_stolen);
void look_free(struct look *look);
/** Calls `done` once, at once if the last answer is younger than a second. */
void look_at(struct look *look, look_fn done, void *ctx);

#endif
