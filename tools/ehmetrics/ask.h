/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file ask.h
 * Questions to the agent of this node, over its local socket, as ehctl asks them. Nothing waits: an
 * agent that is not there, or does not answer, is an answer too.
 */
#ifndef EHMETRICS_ASK_H
#define EHMETRICS_ASK_H

#include <event2/event.h>
#include <jansson.h>

struct ask;

/** One document of the agent's, whose reference stays the caller's; NULL: there is none (any more),
 *  and `why` says so. */
typedef void (*ask_fn)(void *ctx, const json_t *reply, const char *why);

/** Sends a request, whose reference it takes over. `done` is called once, from the loop (without memory
 *  at once). */
void ask_once(struct event_base *base, json_t *request, ask_fn done, void *ctx);
/** The same for a request that is answered with events: `done` is called for each, and at last with
 *  NULL. `done` must not end it. NULL: no memory. */
struct ask *ask_events(struct event_base *base, json_t *request, ask_fn done, void *ctx);
/** Hears no more of it; `done` is not called. NULL does nothing. */
void ask_end(struct ask *ask);

#endif
