// SPDX-License-Identifier: GPL-2.0-or-later
#include "events.h"

#include <stdlib.h>

#include "ask.h"

#define EVENTS_KEPT 500
#define EVENTS_AGAIN_S 2

struct events {
	struct event_base *base;
	struct ask *ask; /* NULL: waits for `again` */
	struct event *again;
	events_fn news;
	void *ctx;
	json_t *kept[EVENTS_KEPT]; /* number N is in N % EVENTS_KEPT */
	uint64_t last;
};

static void events_on_event(void *ctx, const json_t *event, const char *why)
{
	const struct timeval soon = { EVENTS_AGAIN_S, 0 };
	struct events *e = ctx;
	json_t *copy;

	if (!event) {
		e->ask = NULL;
		event_add(e->again, &soon);
		e->news(e->ctx, e);
		return;
	}
	copy = json_copy((json_t *)event);
	if (!copy)
		return;
	e->last++;
	json_object_set_new(copy, "n", json_integer((json_int_t)e->last));
	json_decref(e->kept[e->last % EVENTS_KEPT]);
	e->kept[e->last % EVENTS_KEPT] = copy;
	e->news(e->ctx, e);
}

static void events_watch(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval soon = { EVENTS_AGAIN_S, 0 };
	struct events *e = arg;

	e->ask = ask_events(e->base, json_pack("{s:s}", "command", "watch"), events_on_event, e);
	if (!e->ask)
		event_add(e->again, &soon);
}

struct events *events_new(struct event_base *base, events_fn news, void *ctx)
{
	struct events *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->base = base;
	e->news = news;
	e->ctx = ctx;
	e->again = evtimer_new(base, events_watch, e);
	if (!e->again) {
		free(e);
		return NULL;
	}
	event_active(e->again, EV_TIMEOUT, 0);
	return e;
}

void events_free(struct events *e)
{
	if (!e)
		return;
	ask_end(e->ask);
	event_free(e->again);
	for (int i = 0; i < EVENTS_KEPT; i++)
		json_decref(e->kept[i]);
	free(e);
}

uint64_t events_last(const struct events *e)
{
	return e->last;
}

uint64_t events_before(const struct events *e)
{
	return e->last > EVENTS_KEPT ? e->last - EVENTS_KEPT : 0;
}

const json_t *events_at(const struct events *e, uint64_t number, bool tasks)
{
	const json_t *event = e->kept[number % EVENTS_KEPT];

	return tasks || !json_object_get(event, "uid") ? event : NULL;
}

bool events_heard(const struct events *e)
{
	return e->ask;
}

json_t *events_since(const struct events *e, uint64_t after, bool tasks)
{
	const uint64_t before = events_before(e);
	json_t *list = json_array();

	/* A number of an earlier process says nothing. */
	if (after > e->last)
		after = 0;
	for (uint64_t n = after > before ? after : before; n++ < e->last;) {
		const json_t *event = events_at(e, n, tasks);

		if (event)
			json_array_append(list, (json_t *)event);
	}
	return json_pack("{s:i,s:I,s:o}", "version", 1, "last", (json_int_t)e->last, "events",
			 list);
}
