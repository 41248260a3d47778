// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A terminal as standard input is read here, in its own session, and not by
 * the agent: only so does job control decide who may read.
 */

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "stub.h"

static char feed_buffer[1024];
static size_t feed_from, feed_to;

/*
 * In the background nothing is read: the task would be stopped for bytes it
 * has not asked for. There is no event for becoming the foreground group
 * (a shell sends SIGCONT only to stopped jobs), so this is looked at each second.
 */
#define FEED_BACKGROUND_MS 1000

static bool feed_foreground(void)
{
	pid_t group = tcgetpgrp(0);

	return group < 0 || group == getpgrp();
}

static void feed_end(struct stub *s)
{
	close(s->feed);
	s->feed = -1;
}

int feed_wants(struct stub *s, int *fd, short *events, int *timeout_ms)
{
	*fd = -1;
	if (s->feed < 0 || !s->started)
		return 0;
	if (feed_from < feed_to) {
		*fd = s->feed;
		*events = POLLOUT;
	} else if (feed_foreground()) {
		*fd = 0;
		*events = POLLIN;
	} else {
		*timeout_ms = FEED_BACKGROUND_MS;
	}
	return *fd >= 0;
}

void feed_step(struct stub *s)
{
	ssize_t n;

	if (feed_from == feed_to) {
		n = read(0, feed_buffer, sizeof(feed_buffer));
		if (n <= 0) {
			/* EIO with SIGTTIN blocked: no longer in the foreground. */
			s->fed |= n == 0;
			if (n == 0 || (errno != EINTR && errno != EAGAIN && feed_foreground()))
				feed_end(s);
			return;
		}
		s->fed = true;
		feed_from = 0;
		feed_to = n;
	}
	n = send(s->feed, feed_buffer + feed_from, feed_to - feed_from,
		 MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0)
		feed_from += n;
	else if (errno != EAGAIN && errno != EINTR)
		feed_end(s); /* the task has closed its standard input */
}
