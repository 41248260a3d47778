// SPDX-License-Identifier: GPL-2.0-or-later
#include "executor/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <event2/event.h>

#include "base/log.h"
#include "executor/input.h"
#include "executor/launch.h"
#include "executor/leader.h"
#include "job/channel.h"
#include "job/relay.h"
#include "wire/frame.h"
#include "wire/job.h"
#include "wire/terminal.h"

/* More than a pseudo-terminal holds: after that many bytes, output from before a change is out. */
#define PTY_CONTENT 32768

/*
 * When home offers input but no process is seen to wait for it, look again after 1, 2, 4 … 50 ms.
 * After two seconds take it anyway, for programs that only check whether there is input. What they
 * do not read goes back.
 */
#define PTY_AGAIN_MS 50
#define PTY_UNSEEN_MS 2000

/* ---- modes ---- */

static int pty_set(int fd, const struct terminal *t)
{
	const struct winsize size = { t->rows, t->columns, t->width, t->height };
	struct termios modes;

	if (tcgetattr(fd, &modes))
		return -errno;
	terminal_to_termios(t, &modes);
	modes.c_lflag |= TERMINAL_EXTPROC;
	return tcsetattr(fd, TCSANOW, &modes) || ioctl(fd, TIOCSWINSZ, &size) ? -errno : 0;
}

/* Reads the current modes. Sets EXTPROC again if the task has cleared it. The size is home's. */
static int pty_get(int fd, struct terminal *t)
{
	struct termios modes;

	if (tcgetattr(fd, &modes))
		return -errno;
	if (!(modes.c_lflag & TERMINAL_EXTPROC)) {
		modes.c_lflag |= TERMINAL_EXTPROC;
		tcsetattr(fd, TCSANOW, &modes);
	}
	terminal_from_termios(t, &modes);
	return 0;
}

static bool pty_adds_cr(const struct terminal *t)
{
	return t->oflag & OPOST && t->oflag & ONLCR;
}

static size_t pty_tell_modes(struct pty *p, const struct terminal *now, uint8_t *buf)
{
	size_t length = TERMINAL_SIZE;

	p->known = *now;
	p->late = 0;
	terminal_encode(buf + FRAME_HEADER, now);
	if (p->flush) {
		frame_put_u32(buf + FRAME_HEADER + length, 1);
		length += 4;
		p->last = 0;
	}
	p->flush = false;
	frame_header(buf, FRAME_TERMINAL, length);
	return FRAME_HEADER + length;
}

/*
 * The kernel reports a change of modes before the output that is queued, so output from before the
 * change cannot be told from later output. At home CR LF looks right in any mode, a bare LF only
 * where home does not turn it into CR LF. So a change to modes that do this is sent after the
 * queued output, any other change at once.
 */
static size_t pty_changed(struct pty *p, uint8_t status, uint8_t *buf)
{
	struct terminal now = p->known;

	if (status & TIOCPKT_FLUSHREAD) {
		p->flush |= !p->our_flush;
		p->our_flush = false;
	}
	if (!(status & (TIOCPKT_IOCTL | TIOCPKT_FLUSHREAD)) || pty_get(p->out.fd, &now))
		return 0;
	p->raw = !(now.lflag & ICANON);
	if (!p->flush && !memcmp(&now, &p->known, sizeof(now))) {
		p->late = 0;
		return 0;
	}
	if (pty_adds_cr(&now) && !pty_adds_cr(&p->known)) {
		if (!p->late)
			p->late = PTY_CONTENT;
		return 0;
	}
	return pty_tell_modes(p, &now, buf);
}

/* Reads a packet. Its type (0: data) goes to the last byte of the header's room. */
static ssize_t pty_read_packet(struct pty *p, uint8_t *at, size_t most)
{
	ssize_t n;

	do {
		n = read(p->out.fd, at, most + 1);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* The modes that the task has now. 0: it cannot be asked for them. */
static size_t pty_tell_now(struct pty *p, uint8_t *buf)
{
	struct terminal now = p->known;

	return pty_get(p->out.fd, &now) ? 0 : pty_tell_modes(p, &now, buf);
}

/* The LF of a CR that would be cut from it, for which there is a byte of room. */
static ssize_t pty_read_lf(struct pty *p, uint8_t *packet, ssize_t n)
{
	uint8_t next[2];
	ssize_t got;

	if (packet[n - 1] != '\r')
		return n;
	got = pty_read_packet(p, next, 1);
	if (got > 0 && next[0])
		p->status = next[0];
	else if (got > 1)
		packet[n++] = next[1];
	return n;
}

/* relay_source.read: output of the task, or its new modes. */
static ssize_t pty_read(void *ctx, uint8_t *buf, size_t most)
{
	struct pty *p = ctx;
	uint8_t *packet = buf + FRAME_HEADER - 1, status;
	size_t room, told;
	ssize_t n;

	/* Behind a status that is not told now there may be output. */
	for (;;) {
		told = p->late == 1 ? pty_tell_now(p, buf) : 0;
		if (told)
			return told;
		room = p->late && p->late < most ? p->late : most;
		status = p->status;
		p->status = 0;
		if (!status) {
			n = pty_read_packet(p, packet, room > 1 ? room - 1 : room);
			if (n <= 0 || !packet[0])
				break;
			status = packet[0];
		}
		told = pty_changed(p, status, buf);
		if (told)
			return told;
	}

	if (n > 1 && room > 1)
		n = pty_read_lf(p, packet, n);
	if (n <= 1) {
		told = p->late ? pty_tell_now(p, buf) : 0;
		if (told)
			return told;
		return n < 0 ? n : n ? 0 : -EAGAIN;
	}
	n--;
	if (p->late)
		p->late = p->late > n ? p->late - n : 1;
	frame_header(buf, FRAME_SHOWN, n);
	return FRAME_HEADER + n;
}

/* ---- input ---- */

/* Input that the task has not read. poll() makes the kernel pass on what was just written. */
static uint32_t pty_unread(const struct pty *p)
{
	struct pollfd poll_it = { .fd = p->slave, .events = POLLIN };
	int n = 0;

	poll(&poll_it, 1, 0);
	return ioctl(p->slave, FIONREAD, &n) ? 0 : n;
}

static void pty_look_later(struct pty *p)
{
	const struct timeval wait = { 0, p->wait_ms * 1000 };

	p->waited_ms += p->wait_ms;
	p->wait_ms *= 2;
	if (p->wait_ms > PTY_AGAIN_MS)
		p->wait_ms = PTY_AGAIN_MS;
	evtimer_add(&p->again, &wait);
}

/* Asks for one line when a process waits for it, so that a read() gets one line, as at home. */
static void pty_look(struct pty *p)
{
	if (!p->readable || p->slave < 0)
		return;
	if (pty_unread(p) ||
	    (!p->raw && p->waited_ms < PTY_UNSEEN_MS && !input_waits(p->launch->leader))) {
		pty_look_later(p);
		return;
	}
	p->readable = false;
	p->wanted = true;
	channel_send_2u32(p->channel, FRAME_WANT, 0, FRAME_TYPED_MAX);
}

static void pty_on_again(evutil_socket_t fd, short what, void *arg)
{
	struct pty *p = arg;

	if (p->channel->stream)
		pty_look(p);
}

static int pty_on_readable(void *ctx, const uint8_t *payload, uint32_t length)
{
	struct pty *p = ctx;

	p->readable = true;
	p->wanted = false; /* home no longer had what we asked for */
	p->wait_ms = 1;
	p->waited_ms = 0;
	pty_look(p);
	return 0;
}

static int pty_on_typed(void *ctx, const uint8_t *payload, uint32_t length)
{
	struct pty *p = ctx;
	struct termios modes;

	if (!p->wanted)
		return -EPROTO;
	p->wanted = false;
	if (p->slave < 0)
		return 0;
	p->last = length ? length : 1;
	p->typed += p->last;
	if (!length) {
		/* An empty frame is an end of file, which only canonical mode knows. */
		if (tcgetattr(p->slave, &modes) || !(modes.c_lflag & ICANON))
			return 0;
		payload = &modes.c_cc[VEOF];
		length = 1;
	}
	/* The input queue is empty and has room for the longest line. */
	if (write(p->out.fd, payload, length) != (ssize_t)length)
		log_debug("terminal input does not fit: %s", strerror(errno));
	return 0;
}

void pty_tell_taken(struct pty *p)
{
	uint8_t payload[FRAME_TAKEN_SIZE];
	uint32_t unread;

	if (p->slave < 0 || !p->typing)
		return;
	unread = pty_unread(p);
	frame_put_u64(payload, p->typed - (unread < p->last ? unread : p->last));
	channel_send(p->channel, FRAME_TAKEN, payload, sizeof(payload));
}

/* Home takes back what was not read: drop it here. */
static int pty_on_taken_back(void *ctx, const uint8_t *payload, uint32_t length)
{
	struct pty *p = ctx;

	if (p->slave >= 0 && p->last) {
		p->our_flush = true;
		tcflush(p->slave, TCIFLUSH);
	}
	p->last = 0;
	return 0;
}

/* ---- the rest ---- */

static int pty_on_terminal(void *ctx, const uint8_t *payload, uint32_t length)
{
	struct pty *p = ctx;
	struct terminal t;

	if (terminal_decode(&t, payload, length))
		return -EPROTO;
	if (p->slave < 0)
		return 0;
	/* Modes that the task has set, and home has not seen yet, take precedence. */
	if (p->late && pty_get(p->slave, &t))
		return 0;
	if (!p->late)
		p->known = t;
	p->raw = false;
	pty_set(p->slave, &t);
	return 0;
}

static int pty_on_foreground(void *ctx, const uint8_t *payload, uint32_t length)
{
	struct pty *p = ctx;

	launch_command(p->launch, frame_get_u32(payload) ? LEADER_FOREGROUND : LEADER_BACKGROUND);
	return 0;
}

static int pty_on_want(void *ctx, const uint8_t *payload, uint32_t length)
{
	struct pty *p = ctx;

	return p->out.fd < 0 ? 0 : relay_source_grant(&p->out, frame_get_u32(payload + 4));
}

/* The state is whether the guest has a terminal. */
#define PTY_GIVEN FRAME_IN(true)

static const struct frame_rule pty_rules[] = {
	{ FRAME_TERMINAL, PTY_GIVEN, TERMINAL_SIZE, TERMINAL_SIZE, pty_on_terminal },
	{ FRAME_READABLE, PTY_GIVEN, 0, 0, pty_on_readable },
	{ FRAME_TYPED, PTY_GIVEN, 0, FRAME_TYPED_MAX, pty_on_typed },
	{ FRAME_TAKEN, PTY_GIVEN, FRAME_TAKEN_SIZE, FRAME_TAKEN_SIZE, pty_on_taken_back },
	{ FRAME_FOREGROUND, PTY_GIVEN, 4, 4, pty_on_foreground },
	{ FRAME_WANT, PTY_GIVEN, 8, 8, pty_on_want },
	{ 0 },
};

int pty_frame(struct pty *p, enum frame_type type, const uint8_t *payload, uint32_t length)
{
	return frame_dispatch(pty_rules, p->given, type, p, payload, length);
}

void pty_signal(struct pty *p, int sig)
{
	pid_t group = 0;

	/* After earlier commands about the foreground, or it would be stopped again. */
	if (sig == SIGCONT && p->given)
		launch_command(p->launch, LEADER_CONTINUE);
	else if (p->out.fd < 0 || ioctl(p->out.fd, TIOCGPGRP, &group) || group <= 0 ||
		 group == p->launch->leader)
		launch_signal(p->launch, sig, true);
	else if (ioctl(p->out.fd, TIOCSIG, sig))
		kill(-group, sig);
}

void pty_init(struct pty *p, struct event_base *base, struct channel *c, struct launch *l)
{
	memset(p, 0, sizeof(*p));
	p->channel = c;
	p->launch = l;
	p->master = p->slave = -1;
	relay_source_init(&p->out, base, FRAME_SHOWN);
	p->out.read = pty_read;
	p->out.ctx = p;
	evtimer_assign(&p->again, base, pty_on_again, p);
}

int pty_open(struct pty *p, const struct job_spec *spec)
{
	int off = 0, on = 1, err;

	p->given = true;
	p->typing = spec->flags & JOB_TTY(0);
	p->known = spec->terminal;
	p->master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (p->master < 0 || ioctl(p->master, TIOCSPTLCK, &off))
		return -errno;
	p->slave = ioctl(p->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (p->slave < 0)
		return -errno;
	err = pty_set(p->slave, &p->known);
	if (err)
		return err;
	/* Its programs may open it by name. Without root, the agent's user is the task's. */
	if (fchown(p->slave, spec->uid, -1) && !geteuid())
		return -errno;
	return ioctl(p->master, TIOCPKT, &on) ? -errno : 0;
}

void pty_start(struct pty *p)
{
	if (p->master < 0)
		return;
	relay_source_open(&p->out, p->master, RELAY_OWN, p->channel->stream);
	p->master = -1;
}

void pty_exited(struct pty *p)
{
	evtimer_del(&p->again);
	p->readable = false;
	if (p->slave >= 0)
		close(p->slave);
	p->slave = -1;
	relay_source_ask(&p->out);
}

void pty_hangup(struct pty *p)
{
	evtimer_del(&p->again);
	if (p->slave >= 0)
		close(p->slave);
	p->slave = -1;
	relay_source_close(&p->out, false);
}

void pty_close(struct pty *p)
{
	pty_hangup(p);
	if (p->master >= 0)
		close(p->master);
	p->master = -1;
}
