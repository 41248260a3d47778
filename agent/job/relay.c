// SPDX-License-Identifier: GPL-2.0-or-later
/* Moves a task's bytes from descriptors into frames and from frames to descriptors. */

#include "job/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <event2/event.h>

#include "net/h2_stream.h"
#include "wire/frame.h"

int relay_adopt(int fd, enum relay_kind *kind)
{
	char name[40];
	struct stat st;
	int own, mode;

	*kind = RELAY_OTHER;
	if (fstat(fd, &st))
		return fd;
	if (S_ISSOCK(st.st_mode))
		*kind = RELAY_SOCKET;
	else if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) || S_ISDIR(st.st_mode))
		*kind = RELAY_FILE;
	if (!S_ISFIFO(st.st_mode) && !(S_ISCHR(st.st_mode) && isatty(fd)))
		return fd;
	mode = fcntl(fd, F_GETFL) & O_ACCMODE;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	own = open(name, mode | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	/* For example a FIFO without a reader: poll it instead. */
	if (own < 0)
		return fd;
	close(fd);
	*kind = RELAY_OWN;
	return own;
}

void relay_restore(int fd, enum relay_kind kind)
{
	if (kind == RELAY_OWN)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
}

/* If poll() reports it as ready, this little does not block. */
static bool relay_ready(int fd, short what)
{
	struct pollfd p = { .fd = fd, .events = what };

	return poll(&p, 1, 0) > 0;
}

static ssize_t relay_read(int fd, enum relay_kind kind, uint8_t *buf, size_t room)
{
	ssize_t n;

	if (kind == RELAY_OTHER && !relay_ready(fd, POLLIN))
		return -EAGAIN;
	do {
		n = kind == RELAY_SOCKET ? recv(fd, buf, room, MSG_DONTWAIT) : read(fd, buf, room);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static ssize_t relay_write(int fd, enum relay_kind kind, const uint8_t *data, size_t length)
{
	ssize_t n;

	if (kind == RELAY_OTHER) {
		if (!relay_ready(fd, POLLOUT))
			return -EAGAIN;
		if (length > PIPE_BUF)
			length = PIPE_BUF;
	}
	do {
		n = kind == RELAY_SOCKET ? send(fd, data, length, MSG_DONTWAIT | MSG_NOSIGNAL)
					 : write(fd, data, length);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* ---- sources ---- */

static void relay_source_on_event(evutil_socket_t fd, short what, void *arg)
{
	struct relay_source *s = arg;

	s->waiting = false;
	h2_stream_resume(s->stream);
}

void relay_source_init(struct relay_source *s, struct event_base *base, enum frame_type type)
{
	memset(s, 0, sizeof(*s));
	s->base = base;
	s->fd = -1;
	s->type = type;
}

void relay_source_open(struct relay_source *s, int fd, enum relay_kind kind,
		       struct h2_stream *stream)
{
	s->fd = fd;
	s->kind = kind;
	s->credit = FRAME_WINDOW;
	s->stream = stream;
	event_assign(&s->event, s->base, fd, EV_READ, relay_source_on_event, s);
}

void relay_source_ask(struct relay_source *s)
{
	if (s->waiting)
		event_del(&s->event);
	s->waiting = s->dry = false;
}

void relay_source_stop(struct relay_source *s)
{
	if (s->waiting)
		event_del(&s->event);
	s->waiting = false;
	s->stream = NULL;
}

int relay_source_rewind(struct relay_source *s, uint64_t taken)
{
	if (s->fd < 0)
		return -EPIPE;
	if (taken >= s->sent)
		return 0;
	if (s->kind != RELAY_FILE)
		return -ESPIPE;
	return lseek(s->fd, -(off_t)(s->sent - taken), SEEK_CUR) < 0 ? -errno : 0;
}

void relay_source_close(struct relay_source *s, bool tell)
{
	if (s->fd < 0)
		return;
	relay_source_stop(s);
	close(s->fd);
	s->fd = -1;
	s->end = tell;
}

int relay_source_grant(struct relay_source *s, uint32_t bytes)
{
	if (bytes > FRAME_WINDOW - s->credit)
		return -EPROTO;
	s->credit += bytes;
	return 0;
}

static ssize_t relay_source_read(struct relay_source *s, uint8_t *buf, size_t most)
{
	ssize_t n;

	if (s->read)
		return s->read(s->ctx, buf, most);
	n = relay_read(s->fd, s->kind, buf + FRAME_HEADER, most);
	if (n <= 0)
		return n;
	frame_header(buf, s->type, n);
	return FRAME_HEADER + n;
}

ssize_t relay_source_fill(struct relay_source *s, uint8_t *buf, size_t room)
{
	size_t most = room - FRAME_HEADER;
	ssize_t n;

	if (s->fd >= 0 && !s->over && !s->waiting && s->credit) {
		if (most > FRAME_DATA_MAX)
			most = FRAME_DATA_MAX;
		if (most > s->credit)
			most = s->credit;
		n = relay_source_read(s, buf, most);
		if (n > 0 && frame_get_u32(buf) != s->type)
			return n;
		s->dry = n <= 0;
		if (n > 0) {
			s->credit -= n - FRAME_HEADER;
			s->sent += n - FRAME_HEADER;
			return n;
		}
		if (n == -EAGAIN && !event_add(&s->event, NULL))
			s->waiting = true;
		else if (s->kind == RELAY_FILE)
			s->over = s->end = true;
		else
			relay_source_close(s, true);
	}
	if (!s->end)
		return 0;
	s->end = false;
	frame_header(buf, s->type, 0);
	return FRAME_HEADER;
}

/* ---- sinks ---- */

static void relay_sink_did(struct relay_sink *s, size_t n)
{
	s->taken += n;
	s->done += n;
}

static uint32_t relay_content(int fd)
{
	int n = 0;

	return ioctl(fd, FIONREAD, &n) ? 0 : n;
}

/*
 * relay_sink_read() is called when the task has ended. After we have closed our end it needs a
 * reading end. Opening one earlier would hide from us that the task has closed its own.
 */
static void relay_sink_remember(struct relay_sink *s)
{
	char name[40];

	s->unread = relay_content(s->fd);
	if (!s->end || !s->unread)
		return;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", s->fd);
	s->probe = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

static void relay_sink_drop(struct relay_sink *s)
{
	if (s->fd >= 0) {
		if (s->pipe)
			relay_sink_remember(s);
		event_del(&s->event);
		close(s->fd);
		s->fd = -1;
	}
	if (s->held) {
		relay_sink_did(s, evbuffer_get_length(s->held));
		evbuffer_free(s->held);
		s->held = NULL;
	}
}

/*
 * Writes what is held. A permanent error (no reader, disk full) ends the sink: the task at the
 * other end gets SIGPIPE or EPIPE.
 */
static void relay_sink_on_event(evutil_socket_t fd, short what, void *arg)
{
	struct relay_sink *s = arg;
	bool broken = false;

	while (s->held && evbuffer_get_length(s->held)) {
		struct evbuffer_iovec piece;
		ssize_t n;

		evbuffer_peek(s->held, -1, NULL, &piece, 1);
		n = relay_write(s->fd, s->kind, piece.iov_base, piece.iov_len);
		if (n == -EAGAIN && !event_add(&s->event, NULL))
			break;
		if (n < 0) {
			broken = true;
			relay_sink_drop(s);
			break;
		}
		evbuffer_drain(s->held, n);
		relay_sink_did(s, n);
		s->written += n;
	}
	if (s->held && !evbuffer_get_length(s->held)) {
		evbuffer_free(s->held);
		s->held = NULL;
		if (s->end)
			relay_sink_drop(s);
	}
	s->moved(s->ctx, s, broken);
}

void relay_sink_init(struct relay_sink *s, struct event_base *base,
		     void (*moved)(void *ctx, struct relay_sink *sink, bool broken), void *ctx)
{
	memset(s, 0, sizeof(*s));
	s->base = base;
	s->fd = s->probe = -1;
	s->granted = FRAME_WINDOW;
	s->moved = moved;
	s->ctx = ctx;
}

void relay_sink_open(struct relay_sink *s, int fd, enum relay_kind kind)
{
	s->fd = fd;
	s->kind = kind;
	event_assign(&s->event, s->base, fd, EV_WRITE, relay_sink_on_event, s);
}

static int relay_sink_hold(struct relay_sink *s, const void *data, size_t length)
{
	if (!s->held)
		s->held = evbuffer_new();
	if (!s->held || evbuffer_add(s->held, data, length))
		return -ENOMEM;
	return 0;
}

int relay_sink_put(struct relay_sink *s, const uint8_t *data, size_t length)
{
	bool broken = false;

	if (length > s->granted)
		return -EPROTO;
	s->granted -= length;
	if (s->held)
		return relay_sink_hold(s, data, length);
	while (length && s->fd >= 0) {
		ssize_t n = relay_write(s->fd, s->kind, data, length);

		if (n == -EAGAIN) {
			if (event_add(&s->event, NULL))
				return -ENOMEM;
			return relay_sink_hold(s, data, length);
		}
		if (n < 0) {
			broken = true;
			relay_sink_drop(s);
			break;
		}
		relay_sink_did(s, n);
		s->written += n;
		data += n;
		length -= n;
	}
	relay_sink_did(s, length);
	s->moved(s->ctx, s, broken);
	return 0;
}

int relay_sink_put_text(struct relay_sink *s, uint8_t *data, size_t length)
{
	size_t kept = 0;

	if (length > s->granted)
		return -EPROTO;
	for (size_t i = 0; i < length; i++)
		if (data[i] != '\r' || i + 1 == length || data[i + 1] != '\n')
			data[kept++] = data[i];
	s->granted -= length - kept;
	relay_sink_did(s, length - kept);
	return relay_sink_put(s, data, kept);
}

void relay_sink_end(struct relay_sink *s)
{
	s->end = true;
	if (!s->held)
		relay_sink_drop(s);
}

void relay_sink_close(struct relay_sink *s)
{
	relay_sink_drop(s);
	if (s->probe >= 0)
		close(s->probe);
	s->probe = -1;
}

uint64_t relay_sink_read(const struct relay_sink *s)
{
	if (s->fd >= 0)
		return s->written - relay_content(s->fd);
	return s->written - (s->probe >= 0 ? relay_content(s->probe) : s->unread);
}

size_t relay_sink_held(const struct relay_sink *s)
{
	return s->held ? evbuffer_get_length(s->held) : 0;
}

uint32_t relay_sink_want(struct relay_sink *s)
{
	uint32_t n = s->taken;

	/* In halves: the sender keeps going with few frames. */
	if (n < FRAME_WINDOW / 2)
		return 0;
	s->taken = 0;
	s->granted += n;
	return n;
}
