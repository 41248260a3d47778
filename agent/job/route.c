// SPDX-License-Identifier: GPL-2.0-or-later
#include "job/route.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <event2/buffer.h>
#include <event2/event.h>

#include "base/agent.h"
#include "net/peer.h"

#define ROUTE_READ (2 * (FRAME_HEADER + FRAME_LINK_MAX))

/* ---- the end's socket ---- */

/*
 * Bytes of the stream that wait for the end: whole frames, and what has come of a FRAME_LINK. Of any
 * other frame what has come is consumed, as a job is longer than the stream's window.
 */
static size_t route_held(const struct route *r)
{
	size_t part = evbuffer_get_length(r->from_peer);
	uint8_t head[FRAME_HEADER];
	enum frame_type type;
	uint32_t length;

	if (evbuffer_copyout(r->from_peer, head, sizeof(head)) == sizeof(head) &&
	    !frame_parse(head, &type, &length) && type != FRAME_LINK)
		part = 0;
	return evbuffer_get_length(r->to_end) + part;
}

/* The stream may send as much again as is written, or dropped. */
static void route_consume(struct route *r)
{
	size_t held = route_held(r);

	if (r->owed <= held)
		return;
	if (r->stream)
		h2_stream_consume(r->stream, r->owed - held);
	r->owed = held;
}

static void route_pause(struct route *r, bool pause)
{
	if (r->paused == pause || r->socket < 0)
		return;
	r->paused = pause;
	if (pause)
		event_del(r->readable);
	else
		event_add(r->readable, NULL);
}

void route_close_end(struct route *r)
{
	if (r->socket < 0)
		return;
	if (evbuffer_get_length(r->to_end))
		evbuffer_write(r->to_end, r->socket);
	if (r->readable)
		event_free(r->readable);
	if (r->writable)
		event_free(r->writable);
	r->readable = r->writable = NULL;
	close(r->socket);
	r->socket = -1;
	evbuffer_drain(r->to_end, evbuffer_get_length(r->to_end));
	evbuffer_drain(r->from_end, evbuffer_get_length(r->from_end));
	/* What follows on the stream must get through, without an end, too. */
	route_consume(r);
}

static void route_end_gone(struct route *r)
{
	route_close_end(r);
	r->ops->end_gone(r->ctx);
}

/* What was written frees room for the stream. */
static int route_write(struct route *r)
{
	if (evbuffer_get_length(r->to_end) && evbuffer_write(r->to_end, r->socket) < 0 &&
	    errno != EAGAIN && errno != EINTR)
		return -EPIPE;
	route_consume(r);
	if (evbuffer_get_length(r->to_end))
		event_add(r->writable, NULL);
	return 0;
}

static void route_on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct route *r = arg;

	if (route_write(r))
		route_end_gone(r);
}

/*
 * Takes the whole frames out of `in`. Those of the ends go to `out`, all others to take(). 0, or
 * -errno: the sender broke the protocol. A frame that is not one of `types` is not waited for, as
 * the longest ones have megabytes.
 */
static int route_parse(struct route *r, struct evbuffer *in, struct evbuffer *out,
		       unsigned int types,
		       int (*take)(void *ctx, enum frame_type type, const uint8_t *payload,
				   uint32_t length))
{
	uint8_t head[FRAME_HEADER];
	enum frame_type type;
	uint32_t length;
	uint8_t *frame;
	int err;

	while (evbuffer_copyout(in, head, sizeof(head)) == sizeof(head)) {
		err = frame_parse(head, &type, &length);
		if (err)
			return err;
		if (type != FRAME_LINK && !(types & ROUTE_TAKES(type)))
			return -EPROTO;
		if (evbuffer_get_length(in) < FRAME_HEADER + length)
			return 0;
		if (type == FRAME_LINK) {
			if (out)
				evbuffer_remove_buffer(in, out, FRAME_HEADER + length);
			else
				evbuffer_drain(in, FRAME_HEADER + length);
			continue;
		}
		frame = evbuffer_pullup(in, FRAME_HEADER + length);
		if (!frame)
			return -ENOMEM;
		err = take(r->ctx, type, frame + FRAME_HEADER, length);
		if (err)
			return err;
		/* Less, if the owner has dropped what is held. */
		evbuffer_drain(in, FRAME_HEADER + length);
	}
	return 0;
}

static void route_on_readable(evutil_socket_t fd, short what, void *arg)
{
	uint8_t bytes[ROUTE_READ];
	struct route *r = arg;
	bool over = false;
	int err = 0;
	ssize_t n;

	/* A round for each call: many routes share the loop. evbuffer_read() takes a page only. */
	n = read(fd, bytes, sizeof(bytes));
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		over = true;
	if (n > 0 && evbuffer_add(r->from_end, bytes, n))
		err = -ENOMEM;
	else if (n > 0)
		err = route_parse(r, r->from_end, r->stream ? r->to_peer : NULL,
				  ROUTE_TAKES(FRAME_NOTE), r->ops->from_end);
	if (r->stream)
		h2_stream_resume(r->stream);
	/* It has asked for answers, and reads none. */
	if (evbuffer_get_length(r->to_end) > 2 * ROUTE_HELD)
		err = -ENOBUFS;
	if (evbuffer_get_length(r->to_peer) >= ROUTE_HELD)
		route_pause(r, true);
	/* Another socket, or none, if the owner closed this one. */
	if ((over || err) && r->socket == fd)
		route_end_gone(r);
}

int route_set_end(struct route *r, int socket)
{
	struct event_base *base = r->agent->base;

	route_close_end(r);
	r->socket = socket;
	r->paused = false;
	evutil_make_socket_nonblocking(socket);
	r->readable = event_new(base, socket, EV_READ | EV_PERSIST, route_on_readable, r);
	r->writable = event_new(base, socket, EV_WRITE, route_on_writable, r);
	if (r->readable && r->writable && !event_add(r->readable, NULL))
		return 0;
	route_close_end(r);
	return -ENOMEM;
}

/* ---- the stream ---- */

static void route_on_response(void *ctx, int status)
{
	struct route *r = ctx;

	if (status != 200 && r->ops->refused)
		r->ops->refused(r->ctx, status);
}

static int route_on_data(void *ctx, const uint8_t *data, size_t length)
{
	struct route *r = ctx;
	int err;

	if (evbuffer_add(r->from_peer, data, length))
		return -ENOMEM;
	r->owed += length;
	err = route_parse(r, r->from_peer, r->socket >= 0 ? r->to_end : NULL, r->ops->peer_types,
			  r->ops->from_peer);
	if (err || !r->stream)
		return err;
	/* Its owner has closed it. */
	if (r->socket < 0)
		evbuffer_drain(r->to_end, evbuffer_get_length(r->to_end));
	route_consume(r);
	if (r->socket >= 0 && route_write(r))
		route_end_gone(r);
	return 0;
}

static ssize_t route_on_produce(void *ctx, uint8_t *buf, size_t room)
{
	struct route *r = ctx;
	int n = evbuffer_remove(r->to_peer, buf, room);

	if (evbuffer_get_length(r->to_peer) < ROUTE_HELD / 2)
		route_pause(r, false);
	if (n > 0)
		return n;
	return r->finish ? -1 : 0;
}

static void route_forget_stream(struct route *r)
{
	r->stream = NULL;
	r->owed = 0;
	r->finish = false;
	evbuffer_drain(r->to_peer, evbuffer_get_length(r->to_peer));
	evbuffer_drain(r->from_peer, evbuffer_get_length(r->from_peer));
	route_pause(r, false);
}

static void route_on_closed(void *ctx, bool clean)
{
	struct route *r = ctx;

	route_forget_stream(r);
	r->ops->stream_gone(r->ctx);
}

const struct h2_stream_ops route_stream_ops = {
	.response = route_on_response,
	.data = route_on_data,
	.produce = route_on_produce,
	.closed = route_on_closed,
};

void route_drop_stream(struct route *r)
{
	if (r->stream)
		h2_stream_abort(r->stream);
	route_forget_stream(r);
}

void route_hand_over(struct route *from, struct route *to)
{
	struct h2_stream *s = from->stream;

	h2_stream_accept(s, &route_stream_ops, to);
	route_use(to, s);
	to->owed = from->owed;
	evbuffer_add_buffer(to->from_peer, from->from_peer);
	from->stream = NULL;
	route_forget_stream(from);
}

void route_use(struct route *r, struct h2_stream *s)
{
	route_drop_stream(r);
	r->stream = s;
}

/* ---- both ---- */

static int route_queue(struct evbuffer *to, enum frame_type type, const void *payload,
		       uint32_t length)
{
	uint8_t head[FRAME_HEADER];

	frame_header(head, type, length);
	return evbuffer_add(to, head, sizeof(head)) || (length && evbuffer_add(to, payload, length))
		       ? -ENOMEM
		       : 0;
}

int route_tell_end(struct route *r, enum frame_type type, const void *payload, uint32_t length)
{
	int err;

	if (r->socket < 0)
		return -EPIPE;
	err = route_queue(r->to_end, type, payload, length);
	return err ? err : route_write(r);
}

int route_tell_peer(struct route *r, enum frame_type type, const void *payload, uint32_t length)
{
	int err;

	if (!r->stream)
		return -EPIPE;
	err = route_queue(r->to_peer, type, payload, length);
	if (!err)
		h2_stream_resume(r->stream);
	return err;
}

void route_tell_attached(struct route *r, const struct peer *other, const char *token,
			 const char *id, const struct attached *more)
{
	struct attached told = *more;
	uint8_t payload[ATTACH_SIZE];

	told.limit_ms = r->agent->config->job_limit;
	snprintf(told.token, sizeof(told.token), "%s", token);
	snprintf(told.id, sizeof(told.id), "%s", id);
	snprintf(told.other, sizeof(told.other), "%.*s", (int)sizeof(told.other) - 1,
		 peer_code(other));
	snprintf(told.host, sizeof(told.host), "%.*s", (int)sizeof(told.host) - 1,
		 peer_host(other));
	route_tell_end(r, FRAME_ATTACHED, payload, attached_encode(&told, payload));
}

void route_finish(struct route *r)
{
	r->finish = true;
	if (r->stream)
		h2_stream_resume(r->stream);
}

int route_open(struct route *r, struct agent *agent, int socket, const struct route_ops *ops,
	       void *ctx)
{
	memset(r, 0, sizeof(*r));
	r->agent = agent;
	r->socket = -1;
	r->ops = ops;
	r->ctx = ctx;
	r->to_end = evbuffer_new();
	r->to_peer = evbuffer_new();
	r->from_end = evbuffer_new();
	r->from_peer = evbuffer_new();
	if (!r->to_end || !r->to_peer || !r->from_end || !r->from_peer) {
		if (socket >= 0)
			close(socket);
		goto no_memory;
	}
	if (socket < 0 || !route_set_end(r, socket))
		return 0;
no_memory:
	route_close(r);
	return -ENOMEM;
}

static void route_free_buffer(struct evbuffer **b)
{
	if (*b)
		evbuffer_free(*b);
	*b = NULL;
}

void route_close(struct route *r)
{
	if (r->stream)
		h2_stream_abort(r->stream);
	r->stream = NULL;
	route_close_end(r);
	route_free_buffer(&r->to_end);
	route_free_buffer(&r->to_peer);
	route_free_buffer(&r->from_end);
	route_free_buffer(&r->from_peer);
}
