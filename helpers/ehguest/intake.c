// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Input through a pipe or a pair of sockets. Home gives what is asked for, and that is asked for when a process of the
 * program waits to read it; or home sends copies, and is told what the program has really read.
 */

#include "intake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "input.h"
#include "outlet.h"

#ifndef SIOCOUTQ
#define SIOCOUTQ TIOCOUTQ /* of linux/sockios.h, which musl has not */
#endif
#define INTAKE_AGAIN_MS 50 /* at most, between two looks */
#define INTAKE_AHEAD 65536 /* bytes of the pipe that copies are written to */
/* A window, and an answer that was in the pipe when the copies began. */
#define INTAKE_HELD (JOB_WINDOW + JOB_DATA_MAX)

/* Bytes that are not read. Of a socket it is known only when there are none. */
static uint32_t intake_content(const struct intake *in)
{
	const int fd = in->fd >= 0 ? in->fd : in->probe;
	int n = 0;

	if (fd < 0)
		return 0;
	if (in->socket)
		return !ioctl(fd, SIOCOUTQ, &n) && n ? in->written - in->read : 0;
	return ioctl(fd, FIONREAD, &n) ? 0 : n;
}

static size_t intake_held(const struct intake *in)
{
	return in->to - in->from;
}

static void intake_drop(struct intake *in)
{
	if (in->held)
		munmap(in->held, INTAKE_HELD);
	in->held = NULL;
	in->from = in->to = 0;
}

void intake_spare(struct intake *in)
{
	if (!intake_held(in))
		intake_drop(in);
}

void intake_tell(struct intake *in)
{
	uint32_t unread = intake_content(in);

	/* The program may have written into it, too. What it has read stays read. */
	if (in->written - in->read > unread)
		in->read = in->written - unread;
	job_end_read(&in->session->end, in->channel, in->read);
	if (in->ahead && !in->end && in->fd >= 0 && in->read > in->granted) {
		job_end_grant(&in->session->end, in->channel, in->read - in->granted);
		in->granted = in->read;
	}
}

static void intake_close(struct intake *in)
{
	if (in->fd >= 0)
		close(in->fd);
	in->fd = -1;
	in->look_at = SESSION_NEVER;
	in->offered = false;
	intake_drop(in);
	/* What was read so far stays so. */
	if (in->probe < 0)
		in->written = in->read;
}

/*
 * When we have closed our end, what is unread can be asked only at a reading end. One that was
 * opened earlier would hide from us that the program has closed its own.
 */
static void intake_finish(struct intake *in)
{
	char name[40];

	intake_tell(in);
	if (in->socket) {
		shutdown(in->fd, SHUT_WR);
		in->probe = in->fd;
		in->fd = -1;
	} else if (in->read < in->written) {
		snprintf(name, sizeof(name), "/proc/self/fd/%d", in->fd);
		in->probe = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	}
	intake_close(in);
}

static void intake_look_in(struct intake *in, int64_t ms)
{
	in->wait_ms = ms;
	/* To look for a reader takes long, and all that we do meanwhile counts. Progress is one call. */
	in->look_at = in->offered ? input_look_after(in->session->now, ms) : in->session->now + ms;
}

/* Nobody has it open for reading. */
static void intake_broken(struct intake *in)
{
	intake_tell(in);
	in->shut = in->socket && pair_is_shut(in->inode);
	intake_close(in);
	in->broken = true;
}

static void intake_write(struct intake *in)
{
	ssize_t n;

	while (in->fd >= 0 && intake_held(in)) {
		n = write(in->fd, in->held + in->from, intake_held(in));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			intake_broken(in);
			return;
		}
		in->from += n;
		in->written += n;
	}
	if (in->fd < 0)
		return;
	if (intake_held(in))
		return;
	in->from = in->to = 0;
	if (in->end)
		intake_finish(in);
}

static int intake_hold(struct intake *in, const uint8_t *bytes, size_t n)
{
	if (!in->held) {
		in->held = mmap(NULL, INTAKE_HELD, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (in->held == MAP_FAILED) {
			in->held = NULL;
			return -ENOMEM;
		}
	}
	if (n > INTAKE_HELD - intake_held(in))
		return -EPROTO;
	if (n > INTAKE_HELD - in->to) {
		memmove(in->held, in->held + in->from, intake_held(in));
		in->to -= in->from;
		in->from = 0;
	}
	memcpy(in->held + in->to, bytes, n);
	in->to += n;
	return 0;
}

int intake_data(struct intake *in, const uint8_t *bytes, size_t n)
{
	ssize_t wrote = 0;
	int err = 0;

	if (in->fd < 0)
		return 0; /* it was closed while this was on its way */
	/* What comes is also a sign that it is read. */
	if (in->ahead)
		intake_tell(in);
	if (!intake_held(in)) {
		wrote = write(in->fd, bytes, n);
		if (wrote < 0 && errno != EAGAIN && errno != EINTR) {
			intake_broken(in);
			return 0;
		}
		if (wrote < 0)
			wrote = 0;
		in->written += wrote;
	}
	if ((size_t)wrote < n)
		err = intake_hold(in, bytes + wrote, n - wrote);
	intake_look_in(in, 1);
	return err;
}

void intake_offer(struct intake *in, bool ahead)
{
	if (in->fd < 0)
		return;
	if (ahead && !in->ahead) {
		in->ahead = true;
		/* The window begins behind all that has come. */
		in->granted = in->written + intake_held(in);
		/* In a small pipe each read of a page would wake us up. */
		if (!in->socket)
			fcntl(in->fd, F_SETPIPE_SZ, INTAKE_AHEAD);
	}
	in->offered = !ahead;
	intake_look_in(in, 1);
	in->look_at = in->session->now;
}

void intake_end(struct intake *in)
{
	in->end = true;
	in->offered = false;
	if (in->fd >= 0 && !intake_held(in))
		intake_finish(in);
}

void intake_exited(struct intake *in)
{
	intake_tell(in);
	/* What is left in it belongs to nobody, and remaining readers see its end. */
	if (in->socket && in->fd >= 0)
		shutdown(in->fd, SHUT_WR);
	intake_close(in);
	if (in->probe >= 0)
		close(in->probe);
	in->probe = -1;
	in->written = in->read;
}

/* Asks for as much as a process waits for. What was given before is gone from the pipe then. */
static bool intake_ask(struct intake *in)
{
	const struct input_source source = { .inode = in->inode, .socket = in->socket };
	struct input_wish wish;

	/* Asked for already: the answer is on its way. */
	if (job_end_granted(&in->session->end, in->channel)) {
		in->offered = false;
		return true;
	}
	if (in->read < in->written || intake_held(in))
		return false;
	wish = input_wanted(&source);
	if (wish.unsure)
		job_end_unsure(&in->session->end, in->channel);
	if (!wish.bytes)
		return false;
	job_end_grant(&in->session->end, in->channel,
		      wish.bytes < JOB_WINDOW ? wish.bytes : JOB_WINDOW);
	in->offered = false;
	return true;
}

static void intake_look(struct intake *in)
{
	int64_t next = in->wait_ms * 2;
	uint64_t before = in->read;

	intake_tell(in);
	if (in->read != before)
		next = 1;
	in->look_at = SESSION_NEVER;
	if (in->offered && intake_ask(in))
		return;
	/* There is no event when a pipe is read that was not full. */
	if (in->offered || (in->ahead && in->read < in->written))
		intake_look_in(in, next < INTAKE_AGAIN_MS ? next : INTAKE_AGAIN_MS);
}

struct pollfd intake_poll(const struct intake *in)
{
	/* POLLERR comes in any case: the program has closed it. */
	return (struct pollfd){ .fd = job_end_writes(&in->session->end) ? in->fd : -1,
				.events = intake_held(in) ? POLLOUT : 0 };
}

void intake_step(struct intake *in)
{
	struct job_message closed = { .what = JOB_CLOSED, .channel = in->channel };
	const short gone = in->socket ? POLLERR | POLLHUP : POLLERR;

	if (!job_end_writes(&in->session->end))
		return;
	if (in->ready && in->fd >= 0) {
		struct pollfd p = { .fd = in->fd, .events = POLLOUT };

		in->ready = false;
		if (poll(&p, 1, 0) > 0 && p.revents & gone)
			intake_broken(in);
		intake_write(in);
		if (in->fd >= 0)
			intake_tell(in);
	}
	if (in->fd >= 0 && in->session->now >= in->look_at)
		intake_look(in);
	if (in->broken && session_can_say(in->session)) {
		in->broken = false;
		closed.shut = in->shut;
		job_end_say(&in->session->end, &closed);
	}
}
