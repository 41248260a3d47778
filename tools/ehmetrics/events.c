// SPDX-License-Identifier: GPL-2.0-or-later
#include "events.h"

#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "tools/common/common.h"

#define EVENTS_KEPT 500
#define EVENTS_AGAIN_S 2

struct events {
	struct event_base *base;
	struct ask *ask; /* NULL: waits for `again` */
	struct event *again;
	struct event *others; /* the next look at other nodes */
	struct recent recent;
	unsigned int readers;
	bool looks; /* one is under way */
	events_fn news;
	void *ctx;
	json_t *kept[EVENTS_KEPT]; /* number N is in N % EVENTS_KEPT */
	uint64_t last;
};

static void events_keep(struct events *e, json_t *copy)
{
	if (!copy)
		return;
	e->last++;
	json_object_set_new(copy, "n", json_integer((json_int_t)e->last));
	json_decref(e->kept[e->last % EVENTS_KEPT]);
	e->kept[e->last % EVENTS_KEPT] = copy;
}

/* ---- of this node ---- */

static void events_on_event(void *ctx, const json_t *event, const char *why)
{
	const struct timeval soon = { EVENTS_AGAIN_S, 0 };
	struct events *e = ctx;

	if (!event) {
		e->ask = NULL;
		event_add(e->again, &soon);
		e->news(e->ctx, e);
		return;
	}
	events_keep(e, json_copy((json_t *)event));
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

/* ---- of other nodes ---- */

struct events_taker {
	struct events *events;
	const char *self;
};

static bool events_take(void *ctx, json_t *event)
{
	const struct events_taker *t = ctx;

	/* its own come as they happen */
	if (strcmp(text_of(event, "self"), t->self))
		events_keep(t->events, json_incref(event));
	return true;
}

static void events_on_recent(void *ctx, const json_t *reply, const char *why)
{
	const struct timeval each = { RECENT_EACH_S, 0 };
	struct events *e = ctx;
	const uint64_t last = e->last;
	struct events_taker taker = { e, text_of(reply, "self") };

	e->looks = false;
	if (reply)
		recent_take(&e->recent, reply, events_take, &taker);
	if (e->last != last)
		e->news(e->ctx, e);
	if (e->readers)
		event_add(e->others, &each);
}

static void events_look(evutil_socket_t fd, short what, void *arg)
{
	struct events *e = arg;

	e->looks = true;
	ask_once(e->base, recent_question(&e->recent), events_on_recent, e);
}

void events_read(struct events *e, int more)
{
	e->readers += more;
	if (!e->readers || e->looks || event_pending(e->others, EV_TIMEOUT, NULL))
		return;
	/* what happened while nobody read is not looked for */
	recent_end(&e->recent);
	if (recent_begin(&e->recent))
		event_active(e->others, EV_TIMEOUT, 0);
}

/* ---- all ---- */

struct events *events_new(struct event_base *base, events_fn news, void *ctx)
{
	struct events *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->base = base;
	e->news = news;
	e->ctx = ctx;
	e->again = evtimer_new(base, events_watch, e);
	e->others = evtimer_new(base, events_look, e);
	if (!e->again || !e->others || !recent_begin(&e->recent)) {
		events_free(e);
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
	if (e->again)
		event_free(e->again);
	if (e->others)
		event_free(e->others);
	recent_end(&e->recent);
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
