// SPDX-License-Identifier: GPL-2.0-or-later
#include "stream.h"

#include <stdlib.h>
#include <event2/buffer.h>
#include <event2/http.h>
#include <jansson.h>

#include "events.h"
#include "http.h"

#define STREAM_MOST 16 /* with the key; as many without it, so that no stranger takes all */
#define STREAM_PART 16384 /* bytes that are written at once, and a last event */
#define STREAM_ALIVE_S 15

struct stream {
	struct stream *next;
	struct streams *of;
	struct events *events;
	struct evhttp_request *request;
	uint64_t after;
	bool tasks, busy, told; /* is being written to; has been told that it has all until now */
};

struct streams {
	struct stream *first;
	struct event *alive;
	unsigned int open[2];
};

/* ---- the end of one ---- */

static void stream_forget(struct stream *s)
{
	struct stream **at = &s->of->first;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	s->of->open[s->tasks]--;
	events_read(s->events, -1);
	free(s);
}

static void stream_on_closed(struct evhttp_connection *connection, void *arg)
{
	struct evhttp_request *request = ((struct stream *)arg)->request;

	stream_forget(arg);
	/* A request that has lost its connection is ours to free. */
	if (!evhttp_request_get_connection(request))
		evhttp_send_reply_end(request);
}

static void stream_end(struct stream *s)
{
	struct evhttp_request *request = s->request;

	evhttp_connection_set_closecb(evhttp_request_get_connection(request), NULL, NULL);
	stream_forget(s);
	evhttp_send_reply_end(request);
}

/* ---- what is written ---- */

static void stream_on_written(struct evhttp_connection *connection, void *arg);

static void stream_write(struct stream *s, struct evbuffer *out)
{
	s->busy = true;
	evhttp_send_reply_chunk_with_cb(s->request, out, stream_on_written, s);
}

static bool stream_put_event(struct evbuffer *out, uint64_t number, const json_t *event)
{
	char *text = json_dumps(event, JSON_COMPACT | JSON_REAL_PRECISION(6));
	int n = text ? evbuffer_add_printf(out, "id: %llu\ndata: %s\n\n",
					   (unsigned long long)number, text)
		     : -1;

	free(text);
	return n >= 0;
}

/* What is kept behind its last one, as far as there is room. */
static bool stream_put(struct stream *s, struct evbuffer *out)
{
	const uint64_t last = events_last(s->events), before = events_before(s->events);

	if (s->after < before) {
		if (s->after && evbuffer_add_printf(out, "id: %llu\nevent: lost\ndata: %llu\n\n",
						    (unsigned long long)before,
						    (unsigned long long)(before - s->after)) < 0)
			return false;
		s->after = before;
	}
	while (s->after < last && evbuffer_get_length(out) < STREAM_PART) {
		const json_t *event = events_at(s->events, ++s->after, s->tasks);

		if (event && !stream_put_event(out, s->after, event))
			return false;
	}
	if (s->told || s->after < last)
		return true;
	s->told = true;
	return evbuffer_add_printf(out, "id: %llu\nevent: now\ndata: \n\n",
				   (unsigned long long)last) >= 0;
}

/* False: it has ended. */
static bool stream_fill(struct stream *s)
{
	struct evbuffer *out;
	bool done;

	if (s->busy)
		return true;
	out = evbuffer_new();
	done = out && stream_put(s, out);
	if (done && evbuffer_get_length(out))
		stream_write(s, out);
	if (out)
		evbuffer_free(out);
	/* Its reader asks again, with the last number that came. */
	if (!done)
		stream_end(s);
	return done;
}

static void stream_on_written(struct evhttp_connection *connection, void *arg)
{
	struct stream *s = arg;

	s->busy = false;
	stream_fill(s);
}

/* So that a reader, and what is between, knows a stream without events from one that is broken. */
static void streams_on_alive(evutil_socket_t fd, short what, void *arg)
{
	struct evbuffer *out = evbuffer_new();

	for (struct stream *s = ((struct streams *)arg)->first; out && s; s = s->next)
		if (!s->busy && evbuffer_add(out, ":\n\n", 3) == 0)
			stream_write(s, out);
	if (out)
		evbuffer_free(out);
}

void streams_on_news(void *streams, const struct events *events)
{
	struct stream *s = ((struct streams *)streams)->first, *next;

	for (; s; s = next) {
		next = s->next;
		if (events_heard(events))
			stream_fill(s);
		else
			stream_end(s);
	}
}

/* ---- begin ---- */

const char *stream_open(struct streams *streams, struct events *events,
			struct evhttp_request *request, uint64_t after, bool tasks)
{
	struct stream *s;

	if (!events_heard(events))
		return "the agent of this node tells no events now";
	if (streams->open[tasks] >= STREAM_MOST)
		return "too many read events already";
	s = malloc(sizeof(*s));
	if (!s)
		return "out of memory";
	/* A number of an earlier process says nothing. */
	*s = (struct stream){ .next = streams->first,
			      .of = streams,
			      .events = events,
			      .request = request,
			      .after = after > events_last(events) ? 0 : after,
			      .tasks = tasks };
	streams->first = s;
	streams->open[tasks]++;
	events_read(events, 1);
	http_start(request, "text/event-stream");
	evhttp_connection_set_closecb(evhttp_request_get_connection(request), stream_on_closed, s);
	stream_fill(s);
	return NULL;
}

struct streams *streams_new(struct event_base *base)
{
	const struct timeval each = { STREAM_ALIVE_S, 0 };
	struct streams *streams = calloc(1, sizeof(*streams));

	if (!streams)
		return NULL;
	streams->alive = event_new(base, -1, EV_PERSIST, streams_on_alive, streams);
	if (streams->alive && !event_add(streams->alive, &each))
		return streams;
	streams_free(streams);
	return NULL;
}

void streams_free(struct streams *streams)
{
	if (!streams)
		return;
	while (streams->first) {
		struct evhttp_request *request = streams->first->request;

		evhttp_connection_set_closecb(evhttp_request_get_connection(request), NULL, NULL);
		stream_forget(streams->first);
	}
	if (streams->alive)
		event_free(streams->alive);
	free(streams);
}
