// SPDX-License-Identifier: GPL-2.0-or-later
/* The pipes of the program, and what comes out of them; and its other open files. */

#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/ehsched.h>

/*
 * Bytes of the pipe for input. One JOB_DATA must fit, as it answers one read(). More would hide for
 * longer that the program has read, as there is an event only when a full pipe has room again.
 */
#define FLOW_INTAKE JOB_DATA_MAX

static int flow_null(bool reading)
{
	return open("/dev/null", (reading ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
}

static int flow_hand(struct handed *its, int fd, uint32_t number)
{
	if (fd < 0)
		return -errno;
	its->all[its->n].fd = fd;
	its->all[its->n++].number = number;
	return 0;
}

/* Of this number of the program; -1: it is closed. */
static int flow_handed(const struct handed *its, uint32_t number)
{
	for (unsigned int i = 0; i < its->n; i++)
		if (its->all[i].number == number)
			return its->all[i].fd;
	return -1;
}

static int flow_take(struct intake *in, int ours, int its)
{
	struct stat st;

	in->fd = ours;
	if (!in->socket)
		fcntl(ours, F_SETPIPE_SZ, FLOW_INTAKE);
	if (fstat(its, &st))
		return -errno;
	in->inode = st.st_ino;
	return 0;
}

static int flow_pipe(struct guest *g, int fd, struct handed *its)
{
	int pair[2], err;

	if (pipe2(pair, O_CLOEXEC))
		return -errno;
	/* Only our end, because the program's must block, as at home. */
	fcntl(pair[fd == 0], F_SETFL, O_NONBLOCK);
	err = flow_hand(its, pair[fd != 0], fd);
	if (fd)
		g->out[fd - 1].fd = pair[0];
	else
		err = flow_take(&g->in[0], pair[1], pair[0]);
	return err;
}

static void flow_add_intake(struct guest *g, uint32_t channel)
{
	g->in[g->nins++] = (struct intake){
		.channel = channel, .fd = -1, .probe = -1, .look_at = SESSION_NEVER
	};
}

static void flow_add_outlet(struct guest *g, uint32_t channel)
{
	g->out[g->nouts++] =
		(struct outlet){ .fd = -1, .channel = channel, .end_at = SESSION_NEVER };
}

void flow_init(struct guest *g)
{
	flow_add_intake(g, 0);
	flow_add_outlet(g, 1);
	flow_add_outlet(g, 2);
	tokens_init(g);
	g->channels = JOB_CHANNELS_USUAL;
}

void flow_close(struct handed *its)
{
	for (unsigned int i = 0; i < its->n; i++)
		close(its->all[i].fd);
	its->n = 0;
}

/* ---- other open files ---- */

/* Both ends of a pair, or of a pipe in one direction: ours is the first. 0 or -errno. */
static int flow_pair(const struct job_file *f, int pair[2])
{
	const uint32_t ways = f->flags & (JOB_OPEN_READ | JOB_OPEN_WRITE);
	int swap;

	if (f->kind == JOB_SOCKET || ways == (JOB_OPEN_READ | JOB_OPEN_WRITE))
		return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) ? -errno : 0;
	if (pipe2(pair, O_CLOEXEC))
		return -errno;
	if (ways == JOB_OPEN_READ) {
		swap = pair[0];
		pair[0] = pair[1];
		pair[1] = swap;
	}
	return 0;
}

int flow_stream(struct guest *g, const struct job_file *f, uint32_t channel)
{
	const bool reads = f->flags & JOB_OPEN_READ, writes = f->flags & JOB_OPEN_WRITE;
	struct stat st;
	int pair[2], err;

	err = flow_pair(f, pair);
	if (err)
		return err;
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	if (f->flags & JOB_OPEN_NONBLOCK)
		fcntl(pair[1], F_SETFL, O_NONBLOCK);
	if (writes) {
		flow_add_outlet(g, channel);
		g->out[g->nouts - 1].fd = pair[0];
		g->out[g->nouts - 1].socket = reads;
		if (!fstat(pair[1], &st))
			g->out[g->nouts - 1].inode = st.st_ino;
	}
	if (reads) {
		int ours = writes ? fcntl(pair[0], F_DUPFD_CLOEXEC, 3) : pair[0];

		flow_add_intake(g, channel);
		g->in[g->nins - 1].socket = writes;
		err = ours < 0 ? -errno : flow_take(&g->in[g->nins - 1], ours, pair[1]);
	}
	if (!err)
		return pair[1];
	close(pair[1]);
	return err;
}

/* The program's descriptor of an open file, or -errno. */
static int flow_file(struct guest *g, const struct job_file *f, uint32_t channel)
{
	int fd = -EXDEV;

	if (tokens_has(g, channel))
		return tokens_end(g, channel);
	if (f->kind == JOB_DEVICE)
		return real_device(f);
	if (f->kind == JOB_REAL)
		fd = real_open(g, f, channel);
	if (f->kind != JOB_REAL || (fd < 0 && f->flags & JOB_OPEN_OR_STREAM))
		fd = flow_stream(g, f, channel);
	if (fd >= 0 || f->kind != JOB_REAL)
		return fd;
	g->program.trouble = fd == -EXDEV ? "a file that it has open is not the same there"
					  : "cannot open a file that it has open";
	g->program.error = fd == -EXDEV ? 0 : -fd;
	g->program.reason = EHS_REASON_FILES_DIFFER;
	return fd;
}

static int flow_open_files(struct guest *g, const struct job_spec *spec, struct handed *its)
{
	int of[JOB_CHANNELS], err = tokens_open(g, spec);

	for (uint32_t i = 0; i < JOB_CHANNELS; i++)
		of[i] = -1;
	for (uint32_t i = 0; i < 3; i++)
		of[i] = flow_handed(its, i);
	of[JOB_CHANNEL_TERMINAL] = g->pty.slave;
	for (uint32_t i = 0; i < spec->nfiles && !err; i++) {
		const uint32_t channel = JOB_CHANNEL_FILES + i;

		of[channel] = flow_file(g, &spec->files[i], channel);
		err = of[channel] < 0 ? of[channel] : 0;
	}
	for (uint32_t i = 0; i < spec->ndescriptors && !err; i++)
		err = flow_hand(its, fcntl(of[spec->descriptors[i].channel], F_DUPFD_CLOEXEC, 3),
				spec->descriptors[i].number);
	for (uint32_t i = JOB_CHANNEL_FILES; i < JOB_CHANNELS; i++)
		if (of[i] >= 0)
			close(of[i]);
	return err;
}

int flow_open(struct guest *g, const struct job_spec *spec, struct handed *its)
{
	const uint32_t flags = spec->flags;

	for (int fd = 0; fd < 3; fd++) {
		int err;

		if (!(flags & JOB_FD(fd)))
			continue;
		if (flags & JOB_NULL(fd))
			err = flow_hand(its, flow_null(fd == 0), fd);
		else if (flags & JOB_TTY(fd))
			err = flow_hand(its, fcntl(g->pty.slave, F_DUPFD_CLOEXEC, 3), fd);
		else if (fd == 2 && flags & JOB_MERGED && flow_handed(its, 1) >= 0)
			err = flow_hand(its, fcntl(flow_handed(its, 1), F_DUPFD_CLOEXEC, 3), fd);
		else
			err = flow_pipe(g, fd, its);
		if (err)
			return err;
	}
	g->channels = JOB_CHANNEL_FILES + spec->nfiles;
	return spec->ndescriptors ? flow_open_files(g, spec, its) : 0;
}

/* ---- outlets ---- */

/* Most ends of output are that of the program, of which the kernel tells a moment later: one message for all. */
#define OUTLET_END_MS 2

struct pollfd outlet_poll(const struct guest *g, const struct outlet *o)
{
	bool wants = session_can_say(&g->session) && job_end_room(&g->session.end, o->channel) &&
		     o->end_at == SESSION_NEVER;

	return (struct pollfd){ .fd = wants ? o->fd : -1, .events = POLLIN };
}

struct outlet *outlet_of(struct guest *g, uint32_t channel)
{
	for (unsigned int i = 0; i < g->nouts; i++)
		if (g->out[i].channel == channel)
			return &g->out[i];
	return NULL;
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
static bool outlet_ends(const struct guest *g, const struct outlet *o)
{
	return o->fd >= 0 && o->end_at != SESSION_NEVER && job_end_writes(&g->session.end) &&
	       session_can_say(&g->session);
}

int64_t outlet_end_at(const struct guest *g, const struct outlet *o)
{
	return outlet_ends(g, o) ? o->end_at : SESSION_NEVER;
}

static void outlet_end(struct guest *g, struct outlet *o)
{
	const struct job_message end = { .what = JOB_END,
					 .channel = o->channel,
					 .shut = o->socket && pair_is_shut(o->inode) };

	outlet_close(o);
	job_end_say(&g->session.end, &end);
}

void outlet_step(struct guest *g, struct outlet *o)
{
	uint8_t bytes[JOB_DATA_MAX];
	size_t room;
	ssize_t n;

	while (o->fd >= 0 && o->ready && job_end_writes(&g->session.end) &&
	       session_can_say(&g->session)) {
		room = job_end_room(&g->session.end, o->channel);
		if (!room)
			return;
		n = read(o->fd, bytes, room);
		if (n > 0) {
			job_end_send(&g->session.end, o->channel, bytes, n, false);
			o->sent += n;
			continue;
		}
		o->ready = false;
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (o->end_at == SESSION_NEVER)
			o->end_at = g->session.now + OUTLET_END_MS;
	}
	if (outlet_ends(g, o) && (g->ended || g->session.now >= o->end_at))
		outlet_end(g, o);
}
