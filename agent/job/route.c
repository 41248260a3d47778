// SPDX-License-Identifier: GPL-2.0-or-later
#include "job/route.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <event2/buffer.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "net/peer.h"

/* Nearly what an end writes at once. A buffer takes a power of two with its header, and from 128 KiB
 * on malloc() maps and unmaps it each time. */
#define ROUTE_READ (65536 - 256)
#define ROUTE_END_TYPES (ROUTE_TAKES(FRAME_NOTE) | ROUTE_TAKES(FRAME_SEEN))
#define ROUTE_AGAIN_MS 50 /* until it is tried again, when there was no memory */
#define ROUTE_LOOK_MS 250 /* between two looks whether an end has gone that is not read */

/* ---- the end's socket ---- */

/*
 * Bytes of the stream that wait for the end: whole frames, and what has come of a FRAME_LINK. Of a
 * frame for the owner what has come is consumed, as a job is longer than the stream's window.
 */
static size_t route_held(const struct route *r)
{
	size_t part = evbuffer_get_length(r->from_peer);
	uint8_t head[FRAME_HEADER];
	enum frame_type type;
	uint32_t length;

	if (evbuffer_copyout(r->from_peer, head, sizeof(head)) == sizeof(head) &&
	    !frame_parse(head, &type, &length) && r->ops->peer_types & ROUTE_TAKES(type))
		part = 0;
	return evbuffer_get_length(r->to_end) + part;
}

/* Consumed bytes of an unfinished frame count for the peer as long as they are held. 0 or -ENOBUFS. */
static int route_count(struct route *r)
{
	size_t all = evbuffer_get_length(r->from_peer) + evbuffer_get_length(r->to_end);
	size_t held = route_held(r), part = all > held ? all - held : 0, was = r->part;

	r->part = part;
	if (part < was)
		h2_stream_unkeep(r->stream, was - part);
	else if (part > was && !h2_stream_keep(r->stream, part - was)) {
		r->part = was;
		return -ENOBUFS;
	}
	return 0;
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

/* One that has gone sends no more than its socket holds: so that is taken, and its end noticed. */
static void route_pause(struct route *r, bool pause)
{
	if (r->paused == pause || r->socket < 0 || (pause && r->hung))
		return;
	r->paused = pause;
	if (pause) {
		event_del(r->readable);
		clock_arm(r->look, ROUTE_LOOK_MS);
	} else {
		event_del(r->look);
		event_add(r->readable, NULL);
	}
}

/*
 * libevent has no event for this: its EV_CLOSED is not told of an error, which an end leaves that had
 * not read all, and epoll reports that again and again.
 */
static void route_on_look(evutil_socket_t fd, short what, void *arg)
{
	struct route *r = arg;
	struct pollfd end = { .fd = r->socket, .events = POLLRDHUP };

	if (poll(&end, 1, 0) <= 0)
		return;
	r->hung = true;
	route_pause(r, false);
}

void route_close_end(struct route *r)
{
	if (r->socket < 0)
		return;
	if (evbuffer_get_length(r->to_end))
		evbuffer_write(r->to_end, r->socket);
	agent_free_event(&r->readable);
	agent_free_event(&r->writable);
	agent_free_event(&r->look);
	agent_free_event(&r->again);
	close(r->socket);
	r->socket = -1;
	evbuffer_drain(r->to_end, evbuffer_get_length(r->to_end));
	evbuffer_drain(r->from_end, evbuffer_get_length(r->from_end));
	/* The rest of the stream must get through, without an end, too. */
	route_consume(r);
}

static void route_end_gone(struct route *r)
{
	route_close_end(r);
	if (r->ops->end_gone)
		r->ops->end_gone(r->ctx);
	else
		route_finish(r);
}

/* Memory that is short now is there later: until then the rest stays where it is. */
static int route_later(struct route *r)
{
	return clock_arm(r->again, ROUTE_AGAIN_MS);
}

/* The stream has room for as much as was written. One that has gone is told by reading, after its last words. */
static void route_write(struct route *r)
{
	bool scarce = false;

	if (evbuffer_get_length(r->to_end) && evbuffer_write(r->to_end, r->socket) < 0) {
		if (errno == EPIPE || errno == ECONNRESET)
			evbuffer_drain(r->to_end, evbuffer_get_length(r->to_end));
		else
			scarce = errno != EAGAIN && errno != EINTR;
	}
	route_consume(r);
	if (!evbuffer_get_length(r->to_end))
		return;
	if (scarce)
		route_later(r);
	else
		event_add(r->writable, NULL);
}

static void route_on_writable(evutil_socket_t fd, short what, void *arg)
{
	route_write(arg);
}

/* All of it or nothing. evbuffer_remove_buffer() loses bytes without a word when memory is short. */
static int route_move(struct evbuffer *in, struct evbuffer *out, size_t n)
{
	struct evbuffer_iovec room;

	if (evbuffer_reserve_space(out, n, &room, 1) != 1)
		return -ENOMEM;
	room.iov_len = n;
	if (evbuffer_remove(in, room.iov_base, n) != (int)n || evbuffer_commit_space(out, &room, 1))
		return -EIO;
	return 0;
}

/*
 * Takes the whole frames out of `in`. Those of the ends go to `out`, all others to take(). 0, or
 * -errno: the sender broke the protocol; -ENOMEM: what is left in `in` can be taken later. A frame
 * that is not one of `types` is not waited for, as the longest ones have megabytes.
 */
static int
route_parse(struct route *r, struct evbuffer *in, struct evbuffer *out, unsigned int types,
	    int (*take)(void *ctx, enum frame_type type, const uint8_t *payload, uint32_t length))
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
			err = out ? route_move(in, out, FRAME_HEADER + length)
				  : evbuffer_drain(in, FRAME_HEADER + length);
			if (err)
				return err;
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

/* Reads as much as there is room for. 1: some, or nothing yet; 0: no more will come; -ENOMEM: not now. */
static int route_read(struct route *r, int fd)
{
	struct evbuffer_iovec room;
	int waiting = 0;
	ssize_t n;

	/* A round for each call: many routes share the loop. evbuffer_read() takes a page only. */
	if (ioctl(fd, FIONREAD, &waiting) || waiting < 1)
		waiting = 1;
	if (waiting > (int)ROUTE_READ)
		waiting = ROUTE_READ;
	if (evbuffer_reserve_space(r->from_end, waiting, &room, 1) != 1)
		return -ENOMEM;
	n = read(fd, room.iov_base, waiting);
	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	r->moved += n;
	room.iov_len = n;
	return evbuffer_commit_space(r->from_end, &room, 1) ? 0 : 1;
}

static void route_from_end(struct route *r, bool reads)
{
	const unsigned int types = r->ops->from_end ? ROUTE_END_TYPES : 0;
	int fd = r->socket, err, got = 1;

	if (r->ops->end_speaks)
		r->ops->end_speaks(r->ctx);
	if (r->socket != fd)
		return;
	/* Frames that could not be taken before come first. */
	err = route_parse(r, r->from_end, r->stream ? r->to_peer : NULL, types, r->ops->from_end);
	if (!err && reads && r->socket == fd) {
		got = route_read(r, fd);
		if (got > 0)
			err = route_parse(r, r->from_end, r->stream ? r->to_peer : NULL, types,
					  r->ops->from_end);
	}
	if (r->stream)
		h2_stream_resume(r->stream);
	/* Another socket, or none, if the owner closed this one. */
	if (r->socket != fd)
		return;
	if (err == -ENOMEM || got == -ENOMEM) {
		if (!route_later(r))
			event_del(r->readable);
		err = 0;
		got = 1;
	}
	/* Until route_go_on(). */
	if (err == -EAGAIN) {
		event_del(r->readable);
		err = 0;
		got = 1;
	}
	/* It has asked for answers, and reads none. */
	if (evbuffer_get_length(r->to_end) > H2_WINDOW + ROUTE_HELD)
		err = -ENOBUFS;
	if (evbuffer_get_length(r->to_peer) >= ROUTE_HELD)
		route_pause(r, true);
	if (!got || err)
		route_end_gone(r);
}

static void route_on_readable(evutil_socket_t fd, short what, void *arg)
{
	route_from_end(arg, true);
}

static void route_on_again(evutil_socket_t fd, short what, void *arg)
{
	struct route *r = arg;

	route_write(r);
	if (!r->paused)
		event_add(r->readable, NULL);
	route_from_end(r, !r->paused);
}

void route_go_on(struct route *r)
{
	if (r->again)
		event_active(r->again, EV_TIMEOUT, 0);
}

int route_set_end(struct route *r, int socket)
{
	struct event_base *base = r->agent->base;

	route_close_end(r);
	r->socket = socket;
	r->paused = r->hung = false;
	evutil_make_socket_nonblocking(socket);
	r->readable = agent_watch(r->agent, socket, EV_READ | EV_PERSIST, route_on_readable, r);
	r->writable = event_new(base, socket, EV_WRITE, route_on_writable, r);
	r->look = event_new(base, -1, EV_PERSIST, route_on_look, r);
	r->again = evtimer_new(base, route_on_again, r);
	if (r->readable && r->writable && r->look && r->again)
		return 0;
	route_close_end(r);
	return -ENOMEM;
}

int route_make_end(struct route *r)
{
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	err = route_set_end(r, pair[0]);
	if (!err)
		return pair[1];
	close(pair[1]);
	return err;
}

/* ---- the stream ---- */

static void route_on_response(void *ctx, int status)
{
	struct route *r = ctx;

	if (status != 200 && r->ops->refused)
		r->ops->refused(r->ctx, status);
}

int route_take(struct route *r)
{
	const bool early = r->socket < 0 && r->ops->early;
	int err = early ? r->ops->early(r->ctx, r->from_peer) : 0;

	r->taking = true;
	/* It may have made the end. */
	if (!err && (!early || r->socket >= 0))
		err = route_parse(r, r->from_peer, r->socket >= 0 ? r->to_end : NULL,
				  r->ops->peer_types, r->ops->from_peer);
	r->taking = false;
	if (!err && r->stream)
		err = route_count(r);
	/* Its owner has closed it. */
	if (r->socket < 0)
		evbuffer_drain(r->to_end, evbuffer_get_length(r->to_end));
	route_consume(r);
	/* Once for all that is here: each time the end must wake up for it. */
	if (r->socket >= 0)
		event_active(r->writable, EV_WRITE, 0);
	return err;
}

static int route_on_data(void *ctx, const uint8_t *data, size_t length)
{
	struct route *r = ctx;

	if (evbuffer_add(r->from_peer, data, length))
		return -ENOMEM;
	r->owed += length;
	r->moved += length;
	r->came = true;
	return route_take(r);
}

static void route_on_end(void *ctx)
{
	struct route *r = ctx;

	if (r->ops->ended)
		r->ops->ended(r->ctx);
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
	r->part = 0;
	r->finish = r->came = false;
	evbuffer_drain(r->to_peer, evbuffer_get_length(r->to_peer));
	evbuffer_drain(r->from_peer, evbuffer_get_length(r->from_peer));
	route_pause(r, false);
}

static void route_on_closed(void *ctx, bool clean)
{
	struct route *r = ctx;

	route_forget_stream(r);
	r->ops->stream_gone(r->ctx, clean);
}

const struct h2_stream_ops route_stream_ops = {
	.response = route_on_response,
	.data = route_on_data,
	.end = route_on_end,
	.produce = route_on_produce,
	.closed = route_on_closed,
};

void route_drop_stream(struct route *r)
{
	if (r->stream)
		h2_stream_abort(r->stream);
	route_forget_stream(r);
}

static ssize_t route_no_more(void *ctx, uint8_t *buf, size_t room)
{
	return -1;
}

/* It only ends. */
static const struct h2_stream_ops route_last_ops = {
	.produce = route_no_more,
};

void route_leave_stream(struct route *r)
{
	if (r->stream) {
		h2_stream_unkeep(r->stream, r->part);
		h2_stream_accept(r->stream, &route_last_ops, NULL);
		h2_stream_resume(r->stream);
	}
	route_forget_stream(r);
}

void route_hand_over(struct route *from, struct route *to)
{
	struct h2_stream *s = from->stream;

	h2_stream_accept(s, &route_stream_ops, to);
	route_use(to, s);
	to->owed = from->owed;
	to->part = from->part;
	evbuffer_add_buffer(to->from_peer, from->from_peer);
	from->stream = NULL;
	route_forget_stream(from);
}

void route_use(struct route *r, struct h2_stream *s)
{
	route_drop_stream(r);
	r->stream = s;
}

int route_begin(struct route *r, const void *bytes, size_t length)
{
	return evbuffer_add(r->to_peer, bytes, length) ? -ENOMEM : 0;
}

/* ---- both ---- */

/* A whole frame or none of it. */
static int route_queue(struct evbuffer *to, enum frame_type type, const void *payload,
		       uint32_t length)
{
	struct evbuffer_iovec room;

	if (evbuffer_reserve_space(to, FRAME_HEADER + length, &room, 1) != 1)
		return -ENOMEM;
	frame_header(room.iov_base, type, length);
	if (length)
		memcpy((uint8_t *)room.iov_base + FRAME_HEADER, payload, length);
	room.iov_len = FRAME_HEADER + length;
	return evbuffer_commit_space(to, &room, 1) ? -ENOMEM : 0;
}

int route_tell_end(struct route *r, enum frame_type type, const void *payload, uint32_t length)
{
	int err;

	if (r->socket < 0)
		return -EPIPE;
	err = route_queue(r->to_end, type, payload, length);
	if (!err && !r->taking)
		route_write(r);
	return err;
}

int route_tell_peer_later(struct route *r, enum frame_type type, const void *payload,
			  uint32_t length)
{
	return r->stream ? route_queue(r->to_peer, type, payload, length) : -EPIPE;
}

void route_push(struct route *r)
{
	if (r->stream)
		h2_stream_resume(r->stream);
}

int route_tell_peer(struct route *r, enum frame_type type, const void *payload, uint32_t length)
{
	int err = route_tell_peer_later(r, type, payload, length);

	if (!err)
		route_push(r);
	return err;
}

int route_tell_attached(struct route *r, const struct peer *other, const char *token,
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
	return route_tell_end(r, FRAME_ATTACHED, payload, attached_encode(&told, payload));
}

void route_finish(struct route *r)
{
	r->finish = true;
	route_push(r);
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

void route_close_clean(struct route *r)
{
	if (r->stream)
		route_leave_stream(r);
	route_close(r);
}
