// SPDX-License-Identifier: GPL-2.0-or-later
#include "stream.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <event2/buffer.h>

#include "job/bytes.h"
#include "wire/frame.h"

#define STREAM_READ 65536
#define STREAM_WRITE 65536 /* frames that are written at once */
/* Bytes that came: part of a message, one read beyond that, and what the other side's memory holds. */
#define STREAM_IN_MAX (FILES_HEADER + FILES_BODY_MAX + STREAM_READ + BYTES_MEMORY)

size_t stream_waiting(const struct stream *s)
{
	return evbuffer_get_length(s->out);
}

static bool stream_is_full(const struct stream *s)
{
	return s->most && stream_waiting(s) > s->most;
}

/* ---- the connection ---- */

static void stream_disconnect(struct stream *s)
{
	if (s->fd < 0)
		return;
	if (s->readable)
		event_free(s->readable);
	if (s->writable)
		event_free(s->writable);
	s->readable = s->writable = NULL;
	close(s->fd);
	s->fd = -1;
	evbuffer_drain(s->from, evbuffer_get_length(s->from));
	evbuffer_drain(s->to, evbuffer_get_length(s->to));
	job_link_detach(&s->link);
}

/* Gives the link what it has room for. */
static void stream_number(struct stream *s)
{
	size_t length, n;

	while ((length = evbuffer_get_length(s->out))) {
		if (length > BYTES_MAX)
			length = BYTES_MAX;
		n = job_bytes_put(&s->link, evbuffer_pullup(s->out, length), length);
		if (!n)
			return;
		evbuffer_drain(s->out, n);
	}
}

void stream_flush(struct stream *s)
{
	uint8_t frame[FRAME_HEADER + FRAME_LINK_MAX];
	size_t n;

	for (;;) {
		stream_number(s);
		if (s->fd < 0)
			return;
		while (evbuffer_get_length(s->to) < STREAM_WRITE &&
		       (n = job_link_next(&s->link, frame, sizeof(frame))))
			if (evbuffer_add(s->to, frame, n)) {
				/* what has a number comes again with the next connection */
				s->broke(s->ctx);
				return;
			}
		if (!evbuffer_get_length(s->to))
			return;
		if (evbuffer_write(s->to, s->fd) > 0)
			continue;
		/* the reading side notices when it is broken */
		if (errno == EAGAIN || errno == EINTR)
			event_add(s->writable, NULL);
		return;
	}
}

static void stream_on_writable(evutil_socket_t fd, short what, void *arg)
{
	stream_flush(arg);
}

/* ---- what has come ---- */

/* Takes the frames apart. 0 or -errno. */
static int stream_unwrap(struct stream *s)
{
	uint8_t head[FRAME_HEADER], *frame;
	const uint8_t *bytes;
	enum frame_type type;
	uint32_t length;
	size_t n;
	int ret;

	while (evbuffer_copyout(s->from, head, sizeof(head)) == sizeof(head)) {
		if (frame_parse(head, &type, &length) || type != FRAME_LINK)
			return -EPROTO;
		if (evbuffer_get_length(s->from) < FRAME_HEADER + length)
			return 0;
		frame = evbuffer_pullup(s->from, FRAME_HEADER + length);
		if (!frame)
			return -ENOMEM;
		ret = job_bytes_take(&s->link, frame + FRAME_HEADER, length, &bytes, &n);
		if (ret < 0)
			return ret;
		if (ret && evbuffer_get_length(s->in) + n > STREAM_IN_MAX)
			return -EPROTO;
		if (ret && evbuffer_add(s->in, bytes, n))
			return -ENOMEM;
		evbuffer_drain(s->from, FRAME_HEADER + length);
	}
	return 0;
}

/* Works off the messages, as long as there is room for what they lead to. 0 or -errno. */
static int stream_take(struct stream *s)
{
	static struct files_message m;
	uint8_t head[FILES_HEADER];
	long length;
	int err;

	for (;;) {
		job_link_hold(&s->link, stream_is_full(s));
		if (stream_is_full(s))
			return 0;
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
	static uint8_t bytes[STREAM_READ]; /* evbuffer_read() takes a page only */
	struct stream *s = arg;
	bool full;
	ssize_t n;

	n = read(s->fd, bytes, sizeof(bytes));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		stream_disconnect(s);
		return;
	}
	if (evbuffer_add(s->from, bytes, n) || stream_unwrap(s)) {
		s->broke(s->ctx);
		return;
	}
	do {
		if (stream_take(s)) {
			s->broke(s->ctx);
			return;
		}
		full = stream_is_full(s);
		s->read(s->ctx);
		stream_flush(s);
	} while (full && !stream_is_full(s));
}

/* ---- its life ---- */

int stream_connect(struct stream *s, int fd)
{
	stream_disconnect(s);
	s->fd = fd;
	s->readable = event_new(s->base, fd, EV_READ | EV_PERSIST, stream_on_readable, s);
	s->writable = event_new(s->base, fd, EV_WRITE, stream_on_writable, s);
	if (!s->readable || !s->writable || evutil_make_socket_nonblocking(fd) ||
	    event_add(s->readable, NULL)) {
		stream_disconnect(s);
		return -ENOMEM;
	}
	job_link_attach(&s->link);
	stream_flush(s);
	return 0;
}

int stream_open(struct stream *s, struct event_base *base, int fd)
{
	uint8_t *memory = malloc(BYTES_MEMORY);

	s->fd = -1;
	s->base = base;
	s->in = evbuffer_new();
	s->out = evbuffer_new();
	s->from = evbuffer_new();
	s->to = evbuffer_new();
	if (!memory || !s->in || !s->out || !s->from || !s->to) {
		free(memory);
		return -ENOMEM;
	}
	job_link_init(&s->link, memory, BYTES_MEMORY);
	return fd < 0 ? 0 : stream_connect(s, fd);
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
