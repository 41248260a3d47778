// SPDX-License-Identifier: GPL-2.0-or-later
/* What comes out of a pipe or a pair of sockets of the program. */
#include "outlet.h"

#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Most ends of output are that of the program, of which the kernel tells a moment later: one message for all. */
#define OUTLET_END_MS 2

struct pollfd outlet_poll(const struct outlet *o)
{
	bool wants = session_can_say(o->session) && job_end_room(&o->session->end, o->channel) &&
		     o->end_at == SESSION_NEVER;

	return (struct pollfd){ .fd = wants ? o->fd : -1, .events = POLLIN };
}

void outlet_close(struct outlet *o)
{
	/* Its other direction has a duplicate. */
	if (o->fd >= 0 && o->socket)
		shutdown(o->fd, SHUT_RD);
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
}

void outlet_exited(struct outlet *o)
{
	int waiting = 0;

	o->exited = true;
	if (o->fd < 0)
		return;
	ioctl(o->fd, FIONREAD, &waiting);
	o->owed = o->sent + waiting;
	o->ready = true; /* it may have an end, of which poll() has not told yet */
}

bool pair_is_shut(ino_t inode)
{
	/* The other end of a pair tells both alike, if it is shut down itself. */
	FILE *f = fopen("/proc/net/unix", "re");
	unsigned long number;
	char line[256];
	bool found = false;

	if (!f)
		return false;
	/* "NUM: REFS PROTOCOL FLAGS TYPE STATE INODE"; it goes from there before the other end is told. */
	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%*s %*s %*s %*s %*s %*s %lu", &number) == 1 &&
			number == inode;
	fclose(f);
	return found;
}

/* Whether only the time is waited for. */
static bool outlet_ends(const struct outlet *o)
{
	return o->fd >= 0 && o->end_at != SESSION_NEVER && job_end_writes(&o->session->end) &&
	       session_can_say(o->session);
}

int64_t outlet_end_at(const struct outlet *o)
{
	return outlet_ends(o) ? o->end_at : SESSION_NEVER;
}

static void outlet_end(struct outlet *o)
{
	const struct job_message end = { .what = JOB_END,
					 .channel = o->channel,
					 .shut = o->socket && pair_is_shut(o->inode) };

	outlet_close(o);
	job_end_say(&o->session->end, &end);
}

void outlet_step(struct outlet *o)
{
	uint8_t bytes[JOB_DATA_MAX];
	size_t room;
	ssize_t n;

	while (o->fd >= 0 && o->ready && job_end_writes(&o->session->end) &&
	       session_can_say(o->session)) {
		room = job_end_room(&o->session->end, o->channel);
		if (!room)
			return;
		n = read(o->fd, bytes, room);
		if (n > 0) {
			job_end_send(&o->session->end, o->channel, bytes, n, false);
			o->sent += n;
			continue;
		}
		o->ready = false;
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (o->end_at == SESSION_NEVER)
			o->end_at = o->session->now + OUTLET_END_MS;
	}
	if (outlet_ends(o) && (o->exited || o->session->now >= o->end_at))
		outlet_end(o);
}
