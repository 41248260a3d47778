// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Output of the task: descriptors 1 and 2, its terminal, and others that it writes. What does not fit is held, at most the
 * window that the other end has; it gets more as bytes are written.
 */
#include "stub.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define SINK_LATE_MS 250 /* a task that may be run again: from the end of its output to its own */

struct sink *sink_of(struct stub *s, uint32_t channel)
{
	if (channel < JOB_CHANNEL_FILES)
		return channel ? &s->sinks[channel - 1] : NULL;
	for (uint32_t i = STUB_SINKS; i < s->nsinks; i++)
		if (s->sinks[i].channel == channel)
			return &s->sinks[i];
	return NULL;
}

void sink_open(struct stub *s)
{
	for (uint32_t fd = 1; fd < 3; fd++) {
		struct sink *k = sink_of(s, fd);

		/* A terminal has a channel of its own, and /dev/null is opened over there. */
		if (!(s->flags & JOB_FD(fd)) || s->flags & (JOB_TTY(fd) | JOB_NULL(fd)))
			continue;
		k->fd = fd;
		k->kind = descriptor_adopt(fd);
	}
}

static void sink_did(struct stub *s, struct sink *k, size_t n)
{
	k->done += n;
	job_end_grant(&s->session.end, k->channel, n);
}

static void sink_release(struct sink *k)
{
	if (k->held)
		munmap(k->held, JOB_WINDOW);
	k->held = NULL;
	k->from = k->length = 0;
}

void sink_spare(struct stub *s)
{
	for (uint32_t i = 0; i < s->nsinks; i++)
		if (!s->sinks[i].length)
			sink_release(&s->sinks[i]);
}

void sink_drop(struct stub *s, struct sink *k)
{
	size_t left = k->length;

	/* The terminal's descriptor has other uses. */
	if (k->fd >= 0 && k->channel != JOB_CHANNEL_TERMINAL) {
		if (k->shut && k->kind == KIND_SOCKET)
			shutdown(k->fd, SHUT_WR);
		close(k->fd);
		k->fd = -1;
		opens_closed(s, k->channel);
	}
	k->fd = -1;
	sink_release(k);
	if (k->channel == JOB_CHANNEL_TERMINAL)
		s->tty.before = 0;
	sink_did(s, k, left);
}

static void sink_break(struct stub *s, struct sink *k)
{
	sink_drop(s, k);
	k->broken = true;
	if (k->channel == JOB_CHANNEL_TERMINAL)
		s->tty.hung = true;
}

/* Returns the bytes written, or -errno. After a permanent error the sink is broken. */
static ssize_t sink_try(struct stub *s, struct sink *k, const uint8_t *data, size_t n)
{
	ssize_t done = descriptor_write(k->fd, k->kind, data, n);

	if (done > 0)
		sink_did(s, k, done);
	else if (done != -EAGAIN)
		sink_break(s, k);
	return done;
}

static void sink_write(struct stub *s, struct sink *k)
{
	/* New modes of the terminal are set between the output before them and the output behind them. */
	size_t none = 0, *before = k->channel == JOB_CHANNEL_TERMINAL ? &s->tty.before : &none;

	while (k->length) {
		size_t first = JOB_WINDOW - k->from;
		ssize_t n;

		if (first > k->length)
			first = k->length;
		if (*before && first > *before)
			first = *before;
		n = sink_try(s, k, k->held + k->from, first);
		if (n <= 0)
			return;
		k->from = (k->from + n) % JOB_WINDOW;
		k->length -= n;
		if (*before) {
			*before -= n;
			terminal_settle(s);
		}
	}
	k->from = 0;
	if (k->end && !k->end_at)
		sink_drop(s, k);
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

void sink_put(struct stub *s, struct sink *k, const uint8_t *data, size_t n)
{
	while (n && k->fd >= 0 && !k->length) {
		ssize_t done = sink_try(s, k, data, n);

		if (done <= 0)
			break;
		data += done;
		n -= done;
	}
	if (n && k->fd >= 0) {
		if (sink_hold(k, data, n))
			return;
		sink_break(s, k);
	}
	if (n)
		sink_did(s, k, n);
}

void sink_end(struct stub *s, struct sink *k, bool shut)
{
	/* Unread input must go back to a terminal, after the task has closed it, too. */
	if (k->channel == JOB_CHANNEL_TERMINAL)
		return;
	k->end = true;
	k->shut = shut;
	/* A task that is killed closes all just before its end is told. */
	if (s->again)
		k->end_at = SESSION_NEVER;
	else if (s->retry && s->phase == PHASE_RUNS)
		k->end_at = calls_now() + SINK_LATE_MS;
	else if (!k->length)
		sink_drop(s, k);
	/* One open file, and over there one pipe. */
	if (k->channel == 1 && s->flags & JOB_MERGED && !sink_of(s, 2)->end)
		sink_end(s, sink_of(s, 2), shut);
}

/* Without POLLOUT in `events` it was only looked whether there is a reader. */
void sink_on_poll(struct stub *s, struct sink *k, short events)
{
	if (k->fd < 0 || !events)
		return;
	if (k->length && events & POLLOUT)
		sink_write(s, k);
	else if (events & (POLLERR | POLLHUP | POLLNVAL))
		sink_break(s, k);
}

static void sink_end_now(struct stub *s, struct sink *k)
{
	k->end_at = 0;
	if (k->fd >= 0 && !k->length)
		sink_drop(s, k);
}

void sink_settle_ends(struct stub *s, enum sink_ends ends)
{
	for (uint32_t i = 0; i < s->nsinks; i++) {
		struct sink *k = &s->sinks[i];

		if (!k->end_at)
			continue;
		switch (ends) {
		case SINK_ENDS_WAIT:
			k->end_at = SESSION_NEVER;
			break;
		case SINK_ENDS_NOT:
			k->end_at = 0;
			k->end = false;
			break;
		case SINK_ENDS_NOW:
			sink_end_now(s, k);
			break;
		}
	}
}

void sink_step(struct stub *s)
{
	for (uint32_t i = 0; i < s->nsinks; i++) {
		struct sink *k = &s->sinks[i];
		const struct job_message m = { .what = JOB_CLOSED, .channel = k->channel };

		if (k->end_at && s->session.now >= k->end_at)
			sink_end_now(s, k);
		if (k->broken && session_say(&s->session, &m))
			k->broken = false;
	}
}
