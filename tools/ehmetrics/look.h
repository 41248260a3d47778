/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file look.h
 * The last status of the agent, asked for once however many want it: each look asks all controllers.
 */
#ifndef EHMETRICS_LOOK_H
#define EHMETRICS_LOOK_H

#include <event2/event.h>
#include <jansson.h>

struct look;

/** `status` is the caller's to read only until it returns; NULL: `why` says why. `seconds`: the
 *  agent took that long. */
typedef void (*look_fn)(void *ctx, const json_t *status, double seconds, const char *why);

struct look *look_new(struct event_base *base); /**< NULL: no memory */
void look_free(struct look *look);
/** Calls `done` once, at once if the last status is younger than a second. */
void look_at(struct look *look, look_fn done, void *ctx);

#endif
