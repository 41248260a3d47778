// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Output of the task: descriptors 1 and 2, its terminal, and others that it writes. What does not fit is held, at most the
 * window that the other end has; it gets more as bytes are written.
 */
#include "sink.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

void sink_init(struct sink *k, uint32_t channel, struct session *session, struct opens *opens)
{
	*k = (struct sink){ .session = session, .opens = opens, .fd = -1, .channel = channel };
}

void sink_use(struct sink *k, int fd)
{
	k->fd = fd;
	k->kind = descriptor_adopt(fd);
	opens_use(k->opens, k->channel);
}

void sink_did(struct sink *k, size_t n)
{
	k->done += n;
	job_end_grant(&k->session->end, k->channel, n);
}

static void sink_release(struct sink *k)
{
	if (k->held)
		munmap(k->held, JOB_WINDOW);
	k->held = NULL;
	k->from = k->length = k->before = 0;
}

void sink_spare(struct sink *k)
{
	if (!k->length)
		sink_release(k);
}

static void sink_drop(struct sink *k)
{
	size_t left = k->length;

	/* The terminal's descriptor has other uses. */
	if (k->fd >= 0 && k->channel != JOB_CHANNEL_TERMINAL) {
		if (k->shut && k->kind == KIND_SOCKET)
			shutdown(k->fd, SHUT_WR);
		close(k->fd);
		k->fd = -1;
		opens_close(k->opens, k->channel);
	}
	k->fd = -1;
	sink_release(k);
	sink_did(k, left);
}

void sink_break(struct sink *k)
{
	sink_drop(k);
	k->broken = true;
}

/* Returns the bytes written, or -errno. After a permanent error the sink is broken. */
static ssize_t sink_try(struct sink *k, const uint8_t *data, size_t n)
{
	ssize_t done = descriptor_write(k->fd, k->kind, data, n);

	if (done > 0)
		sink_did(k, done);
	else if (done != -EAGAIN)
		sink_break(k);
	return done;
}

static void sink_write(struct sink *k)
{
	while (k->length) {
		size_t first = JOB_WINDOW - k->from;
		ssize_t n;

		if (first > k->length)
			first = k->length;
		if (k->before && first > k->before)
			first = k->before;
		n = sink_try(k, k->held + k->from, first);
		if (n <= 0)
			return;
		k->from = (k->from + n) % JOB_WINDOW;
		k->length -= n;
		if (!k->before)
			continue;
		k->before -= n;
		/* Its owner acts now, and the rest follows. */
		if (!k->before)
			return;
	}
	k->from = 0;
	if (k->end && !k->end_at)
		sink_drop(k);
}

static bool sink_hold(struct sink *k, const uint8_t *data, size_t n)
{
	size_t at, first;

	if (!k->held) {
		k->held = mmap(NULL, JOB_WINDOW, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (k->held == MAP_FAILED)
			k->held = NULL;
	}
	if (!k->held || n > JOB_WINDOW - k->length)
		return false;
	at = (k->from + k->length) % JOB_WINDOW;
	first = JOB_WINDOW - at;
	if (first > n)
		first = n;
	memcpy(k->held + at, data, first);
	memcpy(k->held, data + first, n - first);
	k->length += n;
	return true;
}

void sink_put(struct sink *k, const uint8_t *data, size_t n)
{
	while (n && k->fd >= 0 && !k->length) {
		ssize_t done = sink_try(k, data, n);

		if (done <= 0)
			break;
		data += done;
		n -= done;
	}
	if (n && k->fd >= 0) {
		if (sink_hold(k, data, n))
			return;
		sink_break(k);
	}
	if (n)
		sink_did(k, n);
}

void sink_end(struct sink *k, bool shut, int64_t at)
{
	k->end = true;
	k->shut = shut;
	k->end_at = at;
	if (!at && !k->length)
		sink_drop(k);
}

/* Without POLLOUT in `events` it was only looked whether there is a reader. */
void sink_on_poll(struct sink *k, short events)
{
	if (k->fd < 0 || !events)
		return;
	if (k->length && events & POLLOUT)
		sink_write(k);
	else if (events & (POLLERR | POLLHUP | POLLNVAL))
		sink_break(k);
}

static void sink_end_now(struct sink *k)
{
	k->end_at = 0;
	if (k->fd >= 0 && !k->length)
		sink_drop(k);
}

void sink_settle_end(struct sink *k, enum sink_ends ends)
{
	if (!k->end_at)
		return;
	switch (ends) {
	case SINK_ENDS_WAIT:
		k->end_at = SESSION_NEVER;
		break;
	case SINK_ENDS_NOT:
		k->end_at = 0;
		k->end = false;
		break;
	case SINK_ENDS_NOW:
		sink_end_now(k);
		break;
	}
}

void sink_step(struct sink *k)
{
	const struct job_message m = { .what = JOB_CLOSED, .channel = k->channel };

	if (k->end_at && k->session->now >= k->end_at)
		sink_end_now(k);
	if (k->broken && session_say(k->session, &m))
		k->broken = false;
}
