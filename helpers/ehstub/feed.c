// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The terminal of the task's session. Input is read here and not by the agent,
 * because only then job control decides who may read; and only a process of the
 * session may ask which process group is in the foreground.
 *
 * Nothing is read before the task waits for it: other commands of a pipeline may
 * read the same terminal, and input that no command reads is for the next one.
 */
#include "stub.h"

#include <errno.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

/*
 * There is no event for becoming the foreground group (a shell sends SIGCONT
 * only to stopped jobs), so a stub in the background checks it regularly.
 */
#define FEED_BACKGROUND_MS 200

static bool feed_is_foreground(const struct stub *s)
{
	pid_t group = tcgetpgrp(s->terminal);

	return group < 0 || group == getpgrp();
}

void feed_look(struct stub *s)
{
	uint8_t payload[4];
	bool now;

	if (s->terminal < 0 || !s->started || s->orphaned)
		return;
	now = feed_is_foreground(s);
	if (now == s->foreground)
		return;
	s->foreground = now;
	frame_put_u32(payload, now);
	stub_send(s, FRAME_FOREGROUND, payload, sizeof(payload));
}

bool feed_wants(struct stub *s, int *timeout_ms)
{
	feed_look(s);
	if (s->terminal >= 0 && !s->foreground)
		*timeout_ms = FEED_BACKGROUND_MS;
	return s->feed == FEED_IDLE && s->foreground && s->started;
}

void feed_restore(const struct stub *s)
{
	if (s->terminal >= 0 && feed_is_foreground(s))
		tcsetattr(s->terminal, TCSANOW, &s->modes);
}

static void feed_hangup(struct stub *s)
{
	const uint8_t payload[4] = { 0 };

	s->feed = FEED_NONE;
	stub_send(s, FRAME_CLOSED, payload, sizeof(payload));
}

void feed_step(struct stub *s, short events)
{
	if (events & (POLLHUP | POLLERR | POLLNVAL)) {
		feed_hangup(s);
		return;
	}
	s->feed = FEED_OFFERED;
	stub_send(s, FRAME_READABLE, NULL, 0);
}

void feed_wanted(struct stub *s)
{
	static const uint8_t nothing[8];
	static uint8_t buffer[FRAME_TYPED_MAX];
	struct pollfd p = { .fd = 0, .events = POLLIN };
	struct termios modes;
	ssize_t n;

	if (s->feed != FEED_OFFERED)
		return;
	s->feed = FEED_IDLE;
	/* Another of the pipeline was faster, or the shell has taken the terminal back. */
	feed_look(s);
	n = -1;
	errno = EAGAIN;
	if (s->foreground && poll(&p, 1, 0) > 0)
		n = read(0, buffer, sizeof(buffer));
	/* EIO: in the background with SIGTTIN blocked, or hung up. */
	if (n < 0 && (errno != EIO || (!s->orphaned && !feed_is_foreground(s)))) {
		stub_send(s, FRAME_WANT, nothing, sizeof(nothing));
		return;
	}
	if ((n < 0 && !s->orphaned) || (!n && (p.revents & POLLHUP || tcgetattr(0, &modes)))) {
		feed_hangup(s);
		return;
	}
	s->fed = true;
	stub_send(s, FRAME_TYPED, buffer, n > 0 ? n : 0);
}
