// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow.h"

#include <errno.h>
#include <fcntl.h>
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

static int flow_pipe(struct flow *f, int fd, struct handed *its)
{
	int pair[2], err;

	if (pipe2(pair, O_CLOEXEC))
		return -errno;
	/* Only our end, because the program's must block, as at home. */
	fcntl(pair[fd == 0], F_SETFL, O_NONBLOCK);
	err = flow_hand(its, pair[fd != 0], fd);
	if (fd)
		f->out[fd - 1].fd = pair[0];
	else
		err = flow_take(&f->in[0], pair[1], pair[0]);
	return err;
}

static struct intake *flow_add_intake(struct flow *f, uint32_t channel)
{
	struct intake *in = &f->in[f->nins++];

	*in = (struct intake){ .session = f->session,
			       .channel = channel,
			       .fd = -1,
			       .probe = -1,
			       .look_at = SESSION_NEVER };
	return in;
}

static struct outlet *flow_add_outlet(struct flow *f, uint32_t channel)
{
	struct outlet *o = &f->out[f->nouts++];

	*o = (struct outlet){
		.session = f->session, .fd = -1, .channel = channel, .end_at = SESSION_NEVER
	};
	return o;
}

void flow_init(struct flow *f, struct session *session)
{
	f->session = f->reals.session = session;
	flow_add_intake(f, 0);
	flow_add_outlet(f, 1);
	flow_add_outlet(f, 2);
	tokens_init(&f->tokens, session);
	pty_init(&f->pty, session);
	f->channels = JOB_CHANNELS_USUAL;
}

void flow_close(struct handed *its)
{
	for (unsigned int i = 0; i < its->n; i++)
		close(its->all[i].fd);
	its->n = 0;
}

struct intake *flow_intake(struct flow *f, uint32_t channel)
{
	for (unsigned int i = 0; i < f->nins; i++)
		if (f->in[i].channel == channel)
			return &f->in[i];
	return NULL;
}

struct outlet *flow_outlet(struct flow *f, uint32_t channel)
{
	for (unsigned int i = 0; i < f->nouts; i++)
		if (f->out[i].channel == channel)
			return &f->out[i];
	return NULL;
}

/* ---- other open files ---- */

/* Both ends of a pair, or of a pipe in one direction: ours is the first. 0 or -errno. */
static int flow_pair(const struct job_file *file, int pair[2])
{
	const uint32_t ways = file->flags & (JOB_OPEN_READ | JOB_OPEN_WRITE);
	int swap;

	if (file->kind == JOB_SOCKET || ways == (JOB_OPEN_READ | JOB_OPEN_WRITE))
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

/* A pipe or a pair of sockets on this channel. Returns the program's end or -errno. */
static int flow_stream(struct flow *f, const struct job_file *file, uint32_t channel)
{
	const bool reads = file->flags & JOB_OPEN_READ, writes = file->flags & JOB_OPEN_WRITE;
	struct outlet *o;
	struct intake *in;
	struct stat st;
	int pair[2], err;

	err = flow_pair(file, pair);
	if (err)
		return err;
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	if (file->flags & JOB_OPEN_NONBLOCK)
		fcntl(pair[1], F_SETFL, O_NONBLOCK);
	if (writes) {
		o = flow_add_outlet(f, channel);
		o->fd = pair[0];
		o->socket = reads;
		if (!fstat(pair[1], &st))
			o->inode = st.st_ino;
	}
	if (reads) {
		int ours = writes ? fcntl(pair[0], F_DUPFD_CLOEXEC, 3) : pair[0];

		in = flow_add_intake(f, channel);
		in->socket = writes;
		err = ours < 0 ? -errno : flow_take(in, ours, pair[1]);
	}
	if (!err)
		return pair[1];
	close(pair[1]);
	return err;
}

/* The program's descriptor of an open file, or -errno. */
static int flow_file(struct flow *f, const struct job_file *file, uint32_t channel,
		     struct trouble *why)
{
	int fd = -EXDEV;

	if (tokens_has(&f->tokens, channel))
		return tokens_end(&f->tokens, channel);
	if (file->kind == JOB_DEVICE)
		return real_device(file);
	if (file->kind == JOB_REAL)
		fd = real_open(&f->reals, file, channel);
	if (file->kind != JOB_REAL || (fd < 0 && file->flags & JOB_OPEN_OR_STREAM))
		fd = flow_stream(f, file, channel);
	if (fd >= 0 || file->kind != JOB_REAL)
		return fd;
	why->text = fd == -EXDEV ? "a file that it has open is not the same there"
				 : "cannot open a file that it has open";
	why->error = fd == -EXDEV ? 0 : -fd;
	why->reason = EHS_REASON_FILES_DIFFER;
	return fd;
}

static int flow_open_files(struct flow *f, const struct job_spec *spec, struct handed *its,
			   struct trouble *why)
{
	int of[JOB_CHANNELS], err = tokens_open(&f->tokens, spec);

	for (uint32_t i = 0; i < JOB_CHANNELS; i++)
		of[i] = i < 3 ? flow_handed(its, i) : -1;
	of[JOB_CHANNEL_TERMINAL] = f->pty.slave;
	for (uint32_t i = 0; i < spec->nfiles && !err; i++) {
		const uint32_t channel = JOB_CHANNEL_FILES + i;

		of[channel] = flow_file(f, &spec->files[i], channel, why);
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

int flow_open(struct flow *f, const struct job_spec *spec, struct handed *its, struct trouble *why)
{
	const uint32_t flags = spec->flags;
	int err = pty_open(&f->pty, spec);

	for (int fd = 0; fd < 3 && !err; fd++) {
		if (!(flags & JOB_FD(fd)))
			continue;
		if (flags & JOB_NULL(fd))
			err = flow_hand(its, flow_null(fd == 0), fd);
		else if (flags & JOB_TTY(fd))
			err = flow_hand(its, fcntl(f->pty.slave, F_DUPFD_CLOEXEC, 3), fd);
		else if (fd == 2 && flags & JOB_MERGED && flow_handed(its, 1) >= 0)
			err = flow_hand(its, fcntl(flow_handed(its, 1), F_DUPFD_CLOEXEC, 3), fd);
		else
			err = flow_pipe(f, fd, its);
	}
	if (err)
		return err;
	f->channels = JOB_CHANNEL_FILES + spec->nfiles;
	return spec->ndescriptors ? flow_open_files(f, spec, its, why) : 0;
}

/* ---- while it runs ---- */

void flow_tell(struct flow *f)
{
	for (unsigned int i = 0; i < f->nins; i++)
		intake_tell(&f->in[i]);
	real_tell(&f->reals);
	pty_tell_read(&f->pty);
}

void flow_drain(struct flow *f)
{
	for (unsigned int i = 0; i < f->nouts; i++) {
		f->out[i].ready = true;
		outlet_step(&f->out[i]);
	}
	f->pty.ready = true;
	f->pty.entered = false;
	f->pty.held_until = 0;
	pty_step(&f->pty);
}

void flow_step(struct flow *f)
{
	for (unsigned int i = 0; i < f->nins; i++)
		intake_step(&f->in[i]);
	for (unsigned int i = 0; i < f->nouts; i++)
		outlet_step(&f->out[i]);
	tokens_step(&f->tokens);
	pty_step(&f->pty);
}

int64_t flow_look_at(const struct flow *f)
{
	int64_t at = f->pty.look_at, other;

	for (unsigned int i = 0; i < f->nins; i++)
		if (f->in[i].look_at < at)
			at = f->in[i].look_at;
	for (unsigned int i = 0; i < f->nouts; i++) {
		other = outlet_end_at(&f->out[i]);
		if (other < at)
			at = other;
	}
	other = tokens_look_at(&f->tokens);
	if (other < at)
		at = other;
	return f->pty.held_until && f->pty.held_until < at ? f->pty.held_until : at;
}

unsigned int flow_watch(const struct flow *f, struct pollfd fds[FLOW_FDS])
{
	unsigned int n = 0;

	fds[n++] = pty_poll(&f->pty);
	fds[n++] = tokens_poll(&f->tokens);
	for (unsigned int i = 0; i < f->nins; i++)
		fds[n++] = intake_poll(&f->in[i]);
	for (unsigned int i = 0; i < f->nouts; i++)
		fds[n++] = outlet_poll(&f->out[i]);
	return n;
}

void flow_on_poll(struct flow *f, const struct pollfd *fds)
{
	f->pty.ready |= fds++->revents;
	f->tokens.ready |= fds++->revents;
	for (unsigned int i = 0; i < f->nins; i++)
		f->in[i].ready |= fds++->revents;
	for (unsigned int i = 0; i < f->nouts; i++)
		f->out[i].ready |= fds++->revents;
}

void flow_spare(struct flow *f)
{
	for (unsigned int i = 0; i < f->nins; i++)
		intake_spare(&f->in[i]);
}

/* ---- the end ---- */

void flow_exited(struct flow *f)
{
	for (unsigned int i = 0; i < f->nouts; i++)
		outlet_exited(&f->out[i]);
	for (unsigned int i = 0; i < f->nins; i++)
		intake_exited(&f->in[i]);
	tokens_exited(&f->tokens);
	real_exited(&f->reals);
	pty_exited(&f->pty);
}

bool flow_owes(const struct flow *f, bool childless)
{
	for (unsigned int i = 0; i < f->nouts; i++)
		if (f->out[i].fd >= 0 && f->out[i].sent < f->out[i].owed)
			return true;
	return tokens_owes(&f->tokens, childless) || (f->pty.master >= 0 && !f->pty.dry);
}

bool flow_is_open(const struct flow *f)
{
	for (unsigned int i = 0; i < f->nouts; i++)
		if (f->out[i].fd >= 0)
			return true;
	return f->pty.master >= 0;
}
