// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

/* More than a pseudo-terminal holds: after that many bytes, output from before a change is out. */
#define PTY_CONTENT 32768
#define PTY_ENTERED_MS 3

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

/* Reads the current modes. Sets EXTPROC again if the program has cleared it. The size is home's. */
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

static void pty_say_modes(struct guest *g, const struct terminal *now)
{
	struct job_message m = { .what = JOB_TERMINAL };
	struct pty *p = &g->pty;

	m.terminal.modes = p->known = *now;
	m.terminal.flush = p->flush;
	p->late = 0;
	if (p->flush)
		p->last = 0;
	p->flush = false;
	job_end_say(&g->session.end, &m);
}

/*
 * The kernel reports a change of modes before the output that is queued, so output from before the
 * change cannot be told from later output. At home CR LF looks right in any mode, a bare LF only
 * where home does not turn it into CR LF. So a change to modes that do this is said after the
 * queued output, any other change at once. Returns whether it was.
 */
static bool pty_changed(struct guest *g, uint8_t status)
{
	struct pty *p = &g->pty;
	struct terminal now = p->known;

	if (status & TIOCPKT_FLUSHREAD) {
		p->flush |= !p->our_flush;
		p->our_flush = false;
	}
	if (!(status & (TIOCPKT_IOCTL | TIOCPKT_FLUSHREAD)) || pty_get(p->master, &now))
		return false;
	p->raw = !(now.lflag & ICANON);
	if (!p->flush && !memcmp(&now, &p->known, sizeof(now))) {
		p->late = 0;
		return false;
	}
	if (pty_adds_cr(&now) && !pty_adds_cr(&p->known)) {
		if (!p->late)
			p->late = PTY_CONTENT;
		return false;
	}
	pty_say_modes(g, &now);
	return true;
}

/* The modes that the program has now. False: it cannot be asked for them. */
static bool pty_say_now(struct guest *g)
{
	struct terminal now = g->pty.known;

	if (pty_get(g->pty.master, &now))
		return false;
	pty_say_modes(g, &now);
	return true;
}

/* ---- output ---- */

/* Reads a packet: a type (0: data), and at most `most` bytes. */
static ssize_t pty_read_packet(struct pty *p, uint8_t *at, size_t most)
{
	ssize_t n;

	do {
		n = read(p->master, at, most + 1);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
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

/* Says output of the program, or its new modes. 1: it did; 0: there is nothing now; -1: it is over. */
static int pty_out(struct guest *g, size_t most)
{
	uint8_t packet[1 + JOB_DATA_MAX], status;
	struct pty *p = &g->pty;
	size_t room;
	ssize_t n;

	/* Behind a status that is not told now there may be output. */
	for (;;) {
		if (p->late == 1 && pty_say_now(g))
			return 1;
		room = p->late && p->late < most ? p->late : most;
		status = p->status;
		p->status = 0;
		if (!status) {
			n = pty_read_packet(p, packet, room > 1 ? room - 1 : room);
			if (n <= 0 || !packet[0])
				break;
			status = packet[0];
		}
		if (pty_changed(g, status))
			return 1;
	}

	if (n > 1 && room > 1)
		n = pty_read_lf(p, packet, n);
	if (n <= 1) {
		if (p->late && pty_say_now(g))
			return 1;
		return n == -EAGAIN || n == 1 ? 0 : -1;
	}
	n--;
	/* The kernel looks for a change first, then for output: the program may have done both meanwhile. */
	if (!p->late)
		pty_changed(g, TIOCPKT_IOCTL);
	if (p->late)
		p->late = p->late > n ? p->late - n : 1;
	job_end_send(&g->session.end, JOB_CHANNEL_TERMINAL, packet + 1, n, false);
	return 1;
}

/*
 * A line editor (readline) shows that a line has ended, and then sets modes. Whoever sees the one may
 * type at once, and home must echo that. A moment later the modes are set, and said first.
 */
static bool pty_holds(struct guest *g)
{
	struct pty *p = &g->pty;

	if (!p->entered)
		return false;
	if (!p->held_until)
		p->held_until = g->session.now + PTY_ENTERED_MS;
	if (g->session.now < p->held_until)
		return true;
	p->entered = false;
	p->held_until = 0;
	return false;
}

static void pty_drain(struct guest *g)
{
	const struct job_message end = { .what = JOB_END, .channel = JOB_CHANNEL_TERMINAL };
	struct pty *p = &g->pty;
	size_t room;
	int ret;

	while (p->master >= 0 && p->ready && session_can_say(&g->session)) {
		room = job_end_room(&g->session.end, JOB_CHANNEL_TERMINAL);
		if (!room)
			return;
		ret = pty_out(g, room);
		if (ret > 0)
			continue;
		p->ready = false;
		p->dry = true;
		if (!ret)
			return;
		pty_close(g);
		job_end_say(&g->session.end, &end);
	}
}

void pty_modes(struct guest *g, const struct terminal *t, bool flush)
{
	struct pty *p = &g->pty;
	struct terminal now = *t;

	if (p->slave < 0)
		return;
	/* Home has taken back what was not read. */
	if (flush && p->last) {
		p->our_flush = true;
		tcflush(p->slave, TCIFLUSH);
	}
	if (flush)
		p->last = 0;
	/* Modes that the program has set, and home has not seen yet, take precedence. */
	if (p->late && pty_get(p->slave, &now))
		return;
	if (!p->late)
		p->known = now;
	p->raw = false;
	pty_set(p->slave, &now);
}

/* ---- the rest ---- */

void pty_foreground(struct guest *g, bool on)
{
	struct pty *p = &g->pty;
	pid_t group = on ? (p->before ? p->before : g->program.pid) : getpid(), now;
	int fd = p->slave;

	if (!p->given || !group)
		return;
	/* After the exit of the program for this call only: it would hide that all have closed it. */
	if (fd < 0)
		fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return; /* hung up */
	if (!on && !ioctl(fd, TIOCGPGRP, &now) && now != group)
		p->before = now;
	ioctl(fd, TIOCSPGRP, &group);
	if (fd != p->slave)
		close(fd);
}

bool pty_signal(struct guest *g, int sig)
{
	struct pty *p = &g->pty;
	pid_t group = 0;

	if (p->master < 0 || ioctl(p->master, TIOCGPGRP, &group) || group <= 0 || group == getpid())
		return false;
	return !ioctl(p->master, TIOCSIG, sig) || !kill(-group, sig);
}

void pty_init(struct guest *g)
{
	g->pty.master = g->pty.slave = -1;
	g->pty.look_at = SESSION_NEVER;
}

int pty_open(struct guest *g, const struct job_spec *spec)
{
	struct pty *p = &g->pty;
	int off = 0, on = 1, err;

	if (!(spec->flags & JOB_CTTY))
		return 0;
	p->given = true;
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
	return ioctl(p->slave, TIOCSCTTY, 0) || ioctl(p->master, TIOCPKT, &on) ? -errno : 0;
}

struct pollfd pty_poll(const struct guest *g)
{
	bool wants = job_end_writes(&g->session.end) && session_can_say(&g->session) &&
		     !g->pty.held_until && job_end_room(&g->session.end, JOB_CHANNEL_TERMINAL);

	return (struct pollfd){ .fd = wants ? g->pty.master : -1, .events = POLLIN };
}

void pty_step(struct guest *g)
{
	if (!job_end_writes(&g->session.end))
		return;
	if (!g->pty.ready || !pty_holds(g))
		pty_drain(g);
	typed_step(g);
}

void pty_exited(struct guest *g)
{
	struct pty *p = &g->pty;

	typed_tell(g);
	p->offered = false;
	p->look_at = SESSION_NEVER;
	if (p->slave >= 0)
		close(p->slave);
	p->slave = -1;
	p->dry = false;
	p->ready = true;
	p->entered = false;
	p->held_until = 0;
}

void pty_close(struct guest *g)
{
	struct pty *p = &g->pty;

	p->offered = false;
	p->look_at = SESSION_NEVER;
	p->entered = false;
	p->held_until = 0;
	if (p->slave >= 0)
		close(p->slave);
	if (p->master >= 0)
		close(p->master);
	p->master = p->slave = -1;
}
