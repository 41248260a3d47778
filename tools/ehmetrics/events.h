/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file events.h
 * The last events of the agent, as `ehctl watch` shows them to this user, numbered from 1. The agent
 * is asked again when it has gone.
 */
#ifndef EHMETRICS_EVENTS_H
#define EHMETRICS_EVENTS_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct events;

struct events *events_new(struct event_base *base); /**< NULL: no memory */
void events_free(struct events *events);
/** {"version","last","events"}: those with a number above `after`, each with its number "n"; with
 *  `tasks` also what is about tasks. NULL: no memory. */
json_t *events_since(const struct events *events, uint64_t after, bool tasks);

#endif
