/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file events.h
 * The last events, as `ehctl watch` shows them to this user, numbered from 1: those of the agent of this
 * node as they come, and, while somebody reads, those of other nodes, looked for each second. The agent
 * is asked again when it has gone.
 */
#ifndef EHMETRICS_EVENTS_H
#define EHMETRICS_EVENTS_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct events;

/** Something has come, or the agent is not heard any more. */
typedef void (*events_fn)(void *ctx, const struct events *events);

/** NULL: no memory. */
struct events *events_new(struct event_base *base, events_fn news, void *ctx);
void events_free(struct events *events);
/** {"version","last","events"}: those with a number above `after`, each with its number "n"; with
 *  `tasks` also what is about tasks. NULL: no memory. */
json_t *events_since(const struct events *events, uint64_t after, bool tasks);

/** One more reads them (1), or no more (-1). */
void events_read(struct events *events, int more);
uint64_t events_last(const struct events *events); /**< 0: there was none */
/** The number before the first that is kept. */
uint64_t events_before(const struct events *events);
/** One that is kept; NULL: it is about tasks, and `tasks` is not set. */
const json_t *events_at(const struct events *events, uint64_t number, bool tasks);
/** Whether the agent tells them now. */
bool events_heard(const struct events *events);

#endif
