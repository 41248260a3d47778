// SPDX-License-Identifier: GPL-2.0-or-later

#include "home/stub.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/log.h"
#include "home/handoff_inside.h"
#include "home/terminal.h"
#include "job/channel.h"
#include "wire/descriptors.h"
#include "wire/frame.h"
#include "wire/terminal.h"

#define STUB_WATCH_MS 250

void stub_close(struct handoff *h)
{
	if (h->stub < 0)
		return;
	event_del(h->reading);
	close(h->stub);
	h->stub = -1;
}

/*
 * Frames to a stub are few and small, and it reads them at once. If one does not fit into the
 * socket's buffer, the other side is not a stub of ours.
 */
int stub_give(struct handoff *h, enum frame_type type, const void *payload, uint32_t length,
	      const int *fds, unsigned int nfds)
{
	uint8_t frame[FRAME_HEADER + 512];
	union descriptors room;
	struct iovec iov = { frame, FRAME_HEADER + length };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (h->stub < 0 || iov.iov_len > sizeof(frame) || nfds > 3)
		return -EPIPE;
	frame_header(frame, type, length);
	if (length)
		memcpy(frame + FRAME_HEADER, payload, length);
	descriptors_put(&msg, &room, fds, nfds);
	return sendmsg(h->stub, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)iov.iov_len ? 0
											   : -EPIPE;
}

int stub_tell(struct handoff *h, enum frame_type type, const void *payload, uint32_t length)
{
	return stub_give(h, type, payload, length, NULL, 0);
}

void stub_stop(struct handoff *h)
{
	const uint8_t nothing[FRAME_TAKEN_SIZE] = { 0 };
	uint8_t payload[4];

	if (!h->stop || h->terminal.asked)
		return;
	frame_put_u32(payload, h->stop);
	h->stop = 0;
	if (terminal_give_back(&h->terminal, &h->out[2]))
		channel_send(&h->channel, FRAME_TAKEN, nothing, sizeof(nothing));
	if (stub_tell(h, FRAME_STOPPED, payload, sizeof(payload)))
		h->stub_gone(h);
}

/* Continues what waited until it was known whether the stub has read input. */
static void stub_answered(struct handoff *h)
{
	stub_stop(h);
	if (h->state == HANDOFF_EXITED)
		handoff_later(h);
}

/* Handles frames about the terminal and its session. */
static int stub_on_terminal(struct handoff *h, enum frame_type type, const uint8_t *payload,
			    uint32_t length)
{
	struct terminal_home *t = &h->terminal;
	uint8_t now[TERMINAL_SIZE];

	if (!t->given)
		return -EPROTO;
	switch (type) {
	case FRAME_TYPED:
		if (!t->asked)
			return -EPROTO;
		t->asked = false;
		if (terminal_typed(t, payload, length))
			return -ENOMEM;
		channel_send(&h->channel, type, payload, length);
		stub_answered(h);
		return 0;
	case FRAME_WANT:
		t->asked = false;
		stub_answered(h);
		return 0;
	case FRAME_READABLE:
		break;
	case FRAME_FOREGROUND:
		t->foreground = length == 4 && frame_get_u32(payload);
		/* The task's changes meanwhile go first, otherwise those of others. */
		if (t->foreground && t->pending)
			terminal_settle(t, &h->out[2]);
		else if (t->foreground && terminal_look(&h->out[2], now))
			channel_send(&h->channel, FRAME_TERMINAL, now, sizeof(now));
		break;
	case FRAME_SIGNAL: /* the size has changed; the executor's terminal sends its own signal */
		if (terminal_look(&h->out[2], now))
			channel_send(&h->channel, FRAME_TERMINAL, now, sizeof(now));
		return 0;
	case FRAME_CLOSED:
		if (length != 4 || frame_get_u32(payload))
			return -EPROTO;
		break;
	default:
		return -EPROTO;
	}
	return channel_send(&h->channel, type, payload, length);
}

static int stub_on_signal(struct handoff *h, const uint8_t *payload, uint32_t length)
{
	if (length != 8 || frame_get_u32(payload) - 1 > 63)
		return -EPROTO;
	/* The stub runs, so its stop is over: a SIGCONT is in this frame or follows. */
	h->stopped_by_us = false;
	if (h->state != HANDOFF_RUNNING)
		return 0;
	if (h->terminal.given && frame_get_u32(payload) == SIGWINCH && frame_get_u32(payload + 4))
		return stub_on_terminal(h, FRAME_SIGNAL, payload, length);
	return channel_send(&h->channel, FRAME_SIGNAL, payload, 8);
}

static int stub_on_frame(struct handoff *h, enum frame_type type, const uint8_t *payload,
			 uint32_t length)
{
	if (type == FRAME_SIGNAL)
		return stub_on_signal(h, payload, length);
	if (h->state != HANDOFF_RUNNING && h->state != HANDOFF_EXITED)
		return 0;
	return stub_on_terminal(h, type, payload, length);
}

/* Receives signals and terminal input. */
static void stub_on_read(evutil_socket_t fd, short what, void *arg)
{
	struct handoff *h = arg;
	enum frame_type type;
	uint32_t length;
	size_t want;
	ssize_t n;

	for (;;) {
		length = 0;
		if (h->have >= FRAME_HEADER)
			frame_parse(h->frame, &type, &length);
		want = FRAME_HEADER + length - h->have;
		n = recv(h->stub, h->frame + h->have, want, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0)
			break;
		h->have += n;
		if (h->have < FRAME_HEADER)
			continue;
		if (frame_parse(h->frame, &type, &length) ||
		    FRAME_HEADER + length > sizeof(h->frame))
			goto wrong;
		if (h->have < FRAME_HEADER + length)
			continue;
		h->have = 0;
		if (stub_on_frame(h, type, h->frame + FRAME_HEADER, length))
			goto wrong;
	}
	h->stub_gone(h);
	return;
wrong:
	log_warning("stub %d broke the protocol; ending its task", (int)h->pid);
	h->stub_gone(h);
}

/*
 * SIGSTOP cannot be caught, and no descriptor reports a stop. So one timer checks the states of all
 * stubs while a task is away.
 */
static char stub_state(const struct handoff *h)
{
	char name[32], text[512], *at;
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/stat", (int)h->pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return '?';
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return '?';
	text[n] = '\0';
	at = strrchr(text, ')');
	return at && at[1] == ' ' ? at[2] : '?';
}

static void stub_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct agent *agent = arg;
	struct handoff *h;

	for (h = agent->handoffs->list; h; h = h->next) {
		bool stopped;

		if (h->state != HANDOFF_RUNNING || h->stub < 0)
			continue;
		stopped = stub_state(h) == 'T';
		if (stopped && !h->stopped_there && !h->stopped_by_us) {
			h->stopped_by_us = true;
			channel_send_2u32(&h->channel, FRAME_SIGNAL, SIGSTOP, 0);
		} else if (!stopped && h->stopped_by_us) {
			h->stopped_by_us = false;
			channel_send_2u32(&h->channel, FRAME_SIGNAL, SIGCONT, 0);
		}
	}
}

int stub_open(struct handoff *h)
{
	h->reading = event_new(h->agent->base, h->stub, EV_READ | EV_PERSIST, stub_on_read, h);
	return h->reading && !event_add(h->reading, NULL) ? 0 : -ENOMEM;
}

int stub_watch(struct agent *agent, bool any)
{
	const struct timeval often = { 0, STUB_WATCH_MS * 1000 };
	struct handoffs *all = agent->handoffs;

	if (!all->stub_timer)
		all->stub_timer = event_new(agent->base, -1, EV_PERSIST, stub_on_timer, agent);
	if (!all->stub_timer)
		return -ENOMEM;
	if (!any)
		return event_del(all->stub_timer);
	return event_add(all->stub_timer, &often);
}
