// SPDX-License-Identifier: GPL-2.0-or-later
/* The pipes of the program, and what comes out of them. */

#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Bytes of the pipe for input. One JOB_DATA must fit, as it answers one read(). More would hide for
 * longer that the program has read, as there is an event only when a full pipe has room again.
 */
#define FLOW_INTAKE JOB_DATA_MAX

static int flow_null(bool reading)
{
	return open("/dev/null", (reading ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
}

static int flow_pipe(struct guest *g, int fd, int its[3])
{
	struct stat st;
	int pair[2];

	if (pipe2(pair, O_CLOEXEC))
		return -errno;
	its[fd] = pair[fd != 0];
	/* Only our end, because the program's must block, as at home. */
	fcntl(pair[fd == 0], F_SETFL, O_NONBLOCK);
	if (fd) {
		g->out[fd - 1].fd = pair[0];
		return 0;
	}
	g->in.fd = pair[1];
	fcntl(pair[1], F_SETPIPE_SZ, FLOW_INTAKE);
	if (fstat(pair[1], &st))
		return -errno;
	g->in.inode = st.st_ino;
	g->in.device = st.st_dev;
	return 0;
}

void flow_init(struct guest *g)
{
	g->in.fd = g->in.probe = -1;
	g->in.look_at = GUEST_NEVER;
	for (int i = 0; i < GUEST_OUTS; i++) {
		g->out[i].fd = -1;
		g->out[i].channel = i + 1;
	}
}

int flow_open(struct guest *g, uint32_t flags, int its[3])
{
	for (int fd = 0; fd < 3; fd++) {
		int err = 0;

		if (!(flags & JOB_FD(fd)))
			continue;
		if (flags & JOB_NULL(fd))
			its[fd] = flow_null(fd == 0);
		else if (flags & JOB_TTY(fd))
			its[fd] = fcntl(g->pty.slave, F_DUPFD_CLOEXEC, 3);
		else if (fd == 2 && flags & JOB_MERGED && its[1] >= 0)
			its[fd] = fcntl(its[1], F_DUPFD_CLOEXEC, 3);
		else
			err = flow_pipe(g, fd, its);
		if (err)
			return err;
		if (its[fd] < 0)
			return -errno;
	}
	return 0;
}

/* ---- outlets ---- */

struct pollfd outlet_poll(const struct guest *g, const struct outlet *o)
{
	bool wants = guest_can_say(g) && job_end_room(&g->end, o->channel);

	return (struct pollfd){ .fd = wants ? o->fd : -1, .events = POLLIN };
}

void outlet_close(struct outlet *o)
{
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
}

void outlet_exited(struct outlet *o)
{
	int waiting = 0;

	if (o->fd < 0)
		return;
	ioctl(o->fd, FIONREAD, &waiting);
	o->owed = o->sent + waiting;
	o->ready = true; /* it may have an end, of which poll() has not told yet */
}

void outlet_step(struct guest *g, struct outlet *o)
{
	const struct job_message end = { .what = JOB_END, .channel = o->channel };
	uint8_t bytes[JOB_DATA_MAX];
	size_t room;
	ssize_t n;

	while (o->fd >= 0 && o->ready && guest_writes(g) && guest_can_say(g)) {
		room = job_end_room(&g->end, o->channel);
		if (!room)
			return;
		n = read(o->fd, bytes, room);
		if (n > 0) {
			job_end_send(&g->end, o->channel, bytes, n, false);
			o->sent += n;
			continue;
		}
		o->ready = false;
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		outlet_close(o);
		guest_say(g, &end);
	}
}
