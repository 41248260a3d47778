// SPDX-License-Identifier: GPL-2.0-or-later
#include "stream.h"

#include <errno.h>
#include <unistd.h>
#include <event2/buffer.h>

#define STREAM_READ 65536

static int stream_take(struct stream *s)
{
	static struct files_message m;
	uint8_t head[FILES_HEADER];
	long length;
	int err;

	for (;;) {
		if (evbuffer_copyout(s->in, head, sizeof(head)) < (ssize_t)sizeof(head))
			return 0;
		length = files_length(head, sizeof(head));
		if (length < 0)
			return length;
		if (evbuffer_get_length(s->in) < (size_t)length)
			return 0;
		err = files_decode(&m, evbuffer_pullup(s->in, length), length);
		if (!err)
			err = s->message(s->ctx, &m);
		if (err)
			return err;
		evbuffer_drain(s->in, length);
	}
}

static void stream_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct stream *s = arg;
	int n;

	if (s->most && stream_waiting(s) > s->most) {
		event_del(s->readable);
		return;
	}
	n = evbuffer_read(s->in, s->fd, STREAM_READ);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 || stream_take(s)) {
		s->broke(s->ctx);
		return;
	}
	s->read(s->ctx);
}

static void stream_on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct stream *s = arg;

	stream_flush(s);
	if (stream_waiting(s))
		return;
	event_add(s->readable, NULL);
	if (s->drained)
		s->drained(s->ctx);
}

int stream_open(struct stream *s, struct event_base *base, int fd)
{
	s->fd = fd;
	s->in = evbuffer_new();
	s->out = evbuffer_new();
	s->readable = event_new(base, fd, EV_READ | EV_PERSIST, stream_on_readable, s);
	s->writable = event_new(base, fd, EV_WRITE, stream_on_writable, s);
	if (!s->in || !s->out || !s->readable || !s->writable || evutil_make_socket_nonblocking(fd))
		return -ENOMEM;
	return event_add(s->readable, NULL) ? -ENOMEM : 0;
}

int stream_put(struct stream *s, const struct files_message *m)
{
	uint8_t head[FILES_HEAD_MAX];
	size_t n = files_encode(head, m);

	if (evbuffer_add(s->out, head, n) ||
	    (m->length && evbuffer_add(s->out, m->data, m->length)))
		return -ENOMEM;
	return 0;
}

void stream_flush(struct stream *s)
{
	while (evbuffer_get_length(s->out)) {
		if (evbuffer_write(s->out, s->fd) > 0)
			continue;
		/* the reading side notices when it is broken */
		if (errno == EAGAIN || errno == EINTR)
			event_add(s->writable, NULL);
		return;
	}
}

size_t stream_waiting(const struct stream *s)
{
	return evbuffer_get_length(s->out);
}
