// SPDX-License-Identifier: GPL-2.0-or-later
#include "pty.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "input.h"

/* More than a pseudo-terminal holds: after that many bytes, output from before a change is out. */
#define PTY_CONTENT 32768
#define PTY_ENTERED_MS 3
#define PTY_LINE 4096 /* bytes of the longest line of a terminal */

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

static void pty_say_modes(struct pty *p, const struct terminal *now)
{
	struct job_message m = { .what = JOB_TERMINAL };
	m.terminal.modes = p->known = *now;
	m.terminal.flush = p->flush;
	p->late = 0;
	if (p->flush)
		p->last = 0;
	p->flush = false;
	job_end_say(&p->session->end, &m);
}

/*
 * The kernel reports a change of modes before the output that is queued, so output from before the
 * change cannot be told from later output. At home CR LF looks right in any mode, a bare LF only
 * where home does not turn it into CR LF. So a change to modes that do this is said after the
 * queued output, any other change at once. Returns whether it was.
 */
static bool pty_changed(struct pty *p, uint8_t status)
{
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
	pty_say_modes(p, &now);
	return true;
}

/* The modes that the program has now. False: it cannot be asked for them. */
static bool pty_say_now(struct pty *p)
{
	struct terminal now = p->known;

	if (pty_get(p->master, &now))
		return false;
	pty_say_modes(p, &now);
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
static int pty_out(struct pty *p, size_t most)
{
	uint8_t packet[1 + JOB_DATA_MAX], status;
	size_t room;
	ssize_t n;

	/* Behind a status that is not told now there may be output. */
	for (;;) {
		if (p->late == 1 && pty_say_now(p))
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
		if (pty_changed(p, status))
			return 1;
	}

	if (n > 1 && room > 1)
		n = pty_read_lf(p, packet, n);
	if (n <= 1) {
		if (p->late && pty_say_now(p))
			return 1;
		return n == -EAGAIN || n == 1 ? 0 : -1;
	}
	n--;
	/* The kernel looks for a change first, then for output: the program may have done both meanwhile. */
	if (!p->late)
		pty_changed(p, TIOCPKT_IOCTL);
	if (p->late)
		p->late = p->late > n ? p->late - n : 1;
	job_end_send(&p->session->end, JOB_CHANNEL_TERMINAL, packet + 1, n, false);
	return 1;
}

/*
 * A line editor (readline) shows that a line has ended, and then sets modes. A user who sees the one may
 * type at once, and home must echo that. A moment later the modes are set, and said first.
 */
static bool pty_holds(struct pty *p)
{
	if (!p->entered)
		return false;
	if (!p->held_until)
		p->held_until = p->session->now + PTY_ENTERED_MS;
	if (p->session->now < p->held_until)
		return true;
	p->entered = false;
	p->held_until = 0;
	return false;
}

static void pty_drain(struct pty *p)
{
	const struct job_message end = { .what = JOB_END, .channel = JOB_CHANNEL_TERMINAL };
	size_t room;
	int ret;

	while (p->master >= 0 && p->ready && session_can_say(p->session)) {
		room = job_end_room(&p->session->end, JOB_CHANNEL_TERMINAL);
		if (!room)
			return;
		ret = pty_out(p, room);
		if (ret > 0)
			continue;
		p->ready = false;
		p->dry = true;
		if (!ret)
			return;
		pty_close(p);
		job_end_say(&p->session->end, &end);
	}
}

void pty_modes(struct pty *p, const struct terminal *t, bool flush)
{
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

/* ---- what is typed at home's terminal ---- */

/* Input that the program has not read. poll() makes the kernel pass on what was just written. */
static uint32_t pty_unread(const struct pty *p)
{
	struct pollfd poll_it = { .fd = p->slave, .events = POLLIN };
	int n = 0;

	poll(&poll_it, 1, 0);
	return ioctl(p->slave, FIONREAD, &n) ? 0 : n;
}

static bool pty_is_read(const struct pty *p)
{
	struct input_source source = { .terminal = true };
	struct stat st;

	if (fstat(p->slave, &st))
		return true;
	source.device = st.st_rdev;
	return input_wanted(&source).bytes;
}

/* Asks for one line when a process waits for it, so that a read() gets one line, as at home. */
static void pty_look(struct pty *p)
{
	p->look_at = SESSION_NEVER;
	if (!p->offered || p->slave < 0)
		return;
	/* Asked for already: the answer is on its way. */
	if (job_end_granted(&p->session->end, JOB_CHANNEL_TERMINAL)) {
		p->offered = false;
		return;
	}
	if (pty_unread(p) || (!p->raw && p->waited_ms < PTY_UNSEEN_MS && !pty_is_read(p))) {
		p->look_at = input_look_after(p->session->now, p->wait_ms);
		p->waited_ms += p->look_at - p->session->now;
		p->wait_ms *= 2;
		if (p->wait_ms > PTY_AGAIN_MS)
			p->wait_ms = PTY_AGAIN_MS;
		return;
	}
	p->offered = false;
	job_end_grant(&p->session->end, JOB_CHANNEL_TERMINAL, PTY_LINE);
}

void pty_offer(struct pty *p)
{
	if (p->slave < 0)
		return;
	p->offered = true;
	p->wait_ms = 1;
	p->waited_ms = 0;
	p->look_at = p->session->now;
}

void pty_type(struct pty *p, const uint8_t *bytes, size_t n)
{
	struct termios modes;

	if (p->slave < 0)
		return;
	p->last = n ? n : 1;
	p->typed += p->last;
	p->entered |= p->raw && (memchr(bytes, '\r', n) || memchr(bytes, '\n', n));
	if (!n) {
		/* An empty one is an end of file, which only canonical mode knows. */
		if (tcgetattr(p->slave, &modes) || !(modes.c_lflag & ICANON))
			return;
		bytes = &modes.c_cc[VEOF];
		n = 1;
	}
	/* The input queue is empty and has room for the longest line. */
	if (write(p->master, bytes, n) != (ssize_t)n)
		return; /* nobody can be told */
}

void pty_tell_read(struct pty *p)
{
	uint32_t unread;
	uint64_t total;

	if (p->slave < 0)
		return;
	unread = pty_unread(p);
	total = p->typed - (unread < p->last ? unread : p->last);
	/* TIOCSTI adds what was not typed at home. What was read stays read. */
	if (p->read < total)
		p->read = total;
	job_end_read(&p->session->end, JOB_CHANNEL_TERMINAL, p->read);
}

/* ---- the rest ---- */

void pty_foreground(struct pty *p, bool on, pid_t program)
{
	pid_t group = on ? (p->before ? p->before : program) : getpid(), now;
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

bool pty_signal(struct pty *p, int sig)
{
	pid_t group = 0;

	if (p->master < 0 || ioctl(p->master, TIOCGPGRP, &group) || group <= 0 || group == getpid())
		return false;
	return !ioctl(p->master, TIOCSIG, sig) || !kill(-group, sig);
}

void pty_init(struct pty *p, struct session *session)
{
	p->session = session;
	p->master = p->slave = -1;
	p->look_at = SESSION_NEVER;
}

int pty_open(struct pty *p, const struct job_spec *spec)
{
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

struct pollfd pty_poll(const struct pty *p)
{
	bool wants = job_end_writes(&p->session->end) && session_can_say(p->session) &&
		     !p->held_until && job_end_room(&p->session->end, JOB_CHANNEL_TERMINAL);

	return (struct pollfd){ .fd = wants ? p->master : -1, .events = POLLIN };
}

void pty_step(struct pty *p)
{
	if (!job_end_writes(&p->session->end))
		return;
	if (!p->ready || !pty_holds(p))
		pty_drain(p);
	if (p->session->now >= p->look_at)
		pty_look(p);
}

/* Nothing more is typed. */
static void pty_close_slave(struct pty *p)
{
	p->offered = false;
	p->look_at = SESSION_NEVER;
	p->entered = false;
	p->held_until = 0;
	if (p->slave >= 0)
		close(p->slave);
	p->slave = -1;
}

void pty_exited(struct pty *p)
{
	pty_tell_read(p);
	pty_close_slave(p);
	p->dry = false;
	p->ready = true;
}

void pty_close(struct pty *p)
{
	pty_close_slave(p);
	if (p->master >= 0)
		close(p->master);
	p->master = -1;
}
