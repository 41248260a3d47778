/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file stream.h
 * Answers that have no end: events as they come (text/event-stream). A reader gets as much as it reads;
 * what it has not read stays in the list that all have in common (events.h).
 */
#ifndef EHMETRICS_STREAM_H
#define EHMETRICS_STREAM_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

struct events;
struct evhttp_request;
struct streams;

struct streams *streams_new(struct event_base *base); /**< NULL: no memory */
/** Before the server: connections with streams stay its own. */
void streams_free(struct streams *streams);
/** Begins one, with the events that have a number above `after`, and with `tasks` also those about
 *  tasks. NULL, or why there is none: the request is to be answered. */
const char *stream_open(struct streams *streams, struct events *events,
			struct evhttp_request *request, uint64_t after, bool tasks);
/** For events_new(). When the agent is not heard any more all end. */
void streams_on_news(void *streams, const struct events *events);

#endif
