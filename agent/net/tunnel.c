// SPDX-License-Identifier: GPL-2.0-or-later
/* Bytes between a socket and a stream. */

#include "net/tunnel.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>
#include <event2/buffer.h>
#include <event2/event.h>

#include "net/h2_stream.h"

static void tunnel_broke(struct tunnel *p, bool ended)
{
	void (*closed)(void *ctx, bool ended) = p->closed;
	void *ctx = p->ctx;

	if (ended)
		tunnel_finish(p);
	else
		tunnel_close(p);
	closed(ctx, ended);
}

static void tunnel_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct tunnel *p = arg;

	if (p->stream)
		h2_stream_resume(p->stream);
}

static void tunnel_on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct tunnel *p = arg;
	int n = evbuffer_write(p->held, p->fd);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		tunnel_broke(p, true);
		return;
	}
	if (n > 0)
		h2_stream_consume(p->stream, n);
	if (evbuffer_get_length(p->held))
		event_add(p->writable, NULL);
}

static int tunnel_data(void *ctx, const uint8_t *data, size_t length)
{
	struct tunnel *p = ctx;
	ssize_t n = 0;

	p->came = true;
	if (!evbuffer_get_length(p->held)) {
		n = send(p->fd, data, length, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN && errno != EINTR) {
			p->over = true;
			return -errno;
		}
		if (n < 0)
			n = 0;
		h2_stream_consume(p->stream, n);
	}
	if ((size_t)n == length)
		return 0;
	if (evbuffer_add(p->held, data + n, length - n))
		return -ENOMEM;
	return event_add(p->writable, NULL) ? -ENOMEM : 0;
}

static ssize_t tunnel_produce(void *ctx, uint8_t *buf, size_t room)
{
	struct tunnel *p = ctx;
	size_t n = 0;
	ssize_t more;

	for (; n < room && p->nfirst; p->nfirst--)
		buf[n++] = *p->first++;
	if (n)
		return n;
	more = recv(p->fd, buf, room, MSG_DONTWAIT);
	if (more > 0)
		return more;
	if (more < 0 && (errno == EAGAIN || errno == EINTR) && !event_add(p->readable, NULL))
		return 0;
	p->over = true;
	return -1;
}

static void tunnel_end(void *ctx)
{
	tunnel_broke(ctx, true);
}

static void tunnel_response(void *ctx, int status)
{
	if (status != 200)
		tunnel_broke(ctx, false);
}

static void tunnel_closed(void *ctx, bool clean)
{
	struct tunnel *p = ctx;

	p->stream = NULL;
	tunnel_broke(p, p->over);
}

const struct h2_stream_ops tunnel_ops = {
	.response = tunnel_response,
	.data = tunnel_data,
	.end = tunnel_end,
	.produce = tunnel_produce,
	.closed = tunnel_closed,
};

/* ---- a stream that only ends ---- */

static int tunnel_drop(void *ctx, const uint8_t *data, size_t length)
{
	h2_stream_consume(ctx, length);
	return 0;
}

static ssize_t tunnel_no_more(void *ctx, uint8_t *buf, size_t room)
{
	return -1;
}

static const struct h2_stream_ops tunnel_last_ops = {
	.data = tunnel_drop,
	.produce = tunnel_no_more,
};

void tunnel_finish(struct tunnel *p)
{
	struct h2_stream *s = p->stream;

	p->stream = NULL;
	if (s) {
		h2_stream_accept(s, &tunnel_last_ops, s);
		h2_stream_resume(s);
	}
	tunnel_close(p);
}

int tunnel_open(struct tunnel *p, struct event_base *base, int fd,
		void (*closed)(void *ctx, bool ended), void *ctx)
{
	struct h2_stream *stream;

	p->fd = fd;
	p->came = p->over = false;
	p->closed = closed;
	p->ctx = ctx;
	p->held = evbuffer_new();
	p->readable = event_new(base, fd, EV_READ, tunnel_on_readable, p);
	p->writable = event_new(base, fd, EV_WRITE, tunnel_on_writable, p);
	if (p->held && p->readable && p->writable && !evutil_make_socket_nonblocking(fd))
		return 0;
	stream = p->stream;
	p->stream = NULL;
	tunnel_close(p);
	p->stream = stream;
	return -ENOMEM;
}

void tunnel_close(struct tunnel *p)
{
	if (p->stream)
		h2_stream_abort(p->stream);
	p->stream = NULL;
	if (p->readable)
		event_free(p->readable);
	if (p->writable)
		event_free(p->writable);
	if (p->held)
		evbuffer_free(p->held);
	p->readable = p->writable = NULL;
	p->held = NULL;
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}
