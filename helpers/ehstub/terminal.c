// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The terminal of the task's session: its modes, its foreground group, output and typed input. It is
 * opened again, so that nothing here waits. The stub blocks SIGTTOU, so nothing here stops it either;
 * it changes the terminal for the task only while its process group is in the foreground.
 */
#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "helpers/end/open.h"

static void terminal_set(int fd, const struct terminal *t)
{
	struct termios modes;

	if (tcgetattr(fd, &modes))
		return;
	terminal_to_termios(t, &modes);
	tcsetattr(fd, TCSANOW, &modes);
}

int terminal_get(int fd, struct terminal *t)
{
	struct winsize size;
	struct termios modes;

	if (tcgetattr(fd, &modes) || ioctl(fd, TIOCGWINSZ, &size))
		return -errno;
	memset(t, 0, sizeof(*t));
	terminal_from_termios(t, &modes);
	t->rows = size.ws_row;
	t->columns = size.ws_col;
	t->width = size.ws_xpixel;
	t->height = size.ws_ypixel;
	return 0;
}

void terminal_open(struct tty *t)
{
	char name[] = "/proc/self/fd/0";
	int own;

	if (t->fd < 0)
		return;
	/* Everybody may open the terminal of his session by this name, whoever owns it. */
	own = open("/dev/tty", O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (own < 0) {
		name[sizeof(name) - 2] = '0' + t->fd % 10;
		own = t->fd > 2 ? -1 : open(name, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	}
	own = open_above_2(own);
	t->out->kind = own < 0 ? KIND_OTHER : KIND_OWN;
	if (own >= 0 && t->fd > 2)
		close(t->fd);
	if (own >= 0)
		t->fd = own;
	t->out->fd = t->fd;
	t->feed = FEED_IDLE;
}

bool terminal_is_hung(const struct tty *t)
{
	return t->out->fd < 0;
}

/* ---- foreground ---- */

static bool terminal_is_foreground(const struct tty *t)
{
	pid_t group = tcgetpgrp(t->fd);

	return group < 0 || group == getpgrp();
}

void terminal_look(struct tty *t)
{
	struct job_message m = { .what = JOB_FOREGROUND };

	if (t->fd < 0 || terminal_is_hung(t) || t->orphaned)
		return;
	m.foreground = terminal_is_foreground(t);
	if (m.foreground == t->foreground)
		return;
	/* The task's changes meanwhile go first, otherwise those of others. */
	if (m.foreground && !t->pending) {
		t->tell = true;
		terminal_step(t, true);
		if (t->tell)
			return;
	}
	if (!session_say(t->session, &m))
		return;
	t->foreground = m.foreground;
	terminal_settle(t);
}

/* ---- modes ---- */

void terminal_step(struct tty *t, bool runs)
{
	struct job_message m = { .what = JOB_TERMINAL, .channel = JOB_CHANNEL_TERMINAL };
	struct job_message end = { .what = JOB_END, .channel = JOB_CHANNEL_TERMINAL };

	if (terminal_is_hung(t) && t->feed != FEED_NONE && session_say(t->session, &end))
		t->feed = FEED_NONE;
	if (!t->tell || !runs)
		return;
	m.terminal.flush = t->tell_flush;
	if (t->fd >= 0 && !terminal_get(t->fd, &m.terminal.modes) && !session_say(t->session, &m))
		return;
	t->tell = t->tell_flush = false;
}

void terminal_settle(struct tty *t)
{
	if (!t->pending || !t->foreground || t->out->before)
		return;
	t->pending = false;
	if (t->fd < 0)
		return;
	if (t->flush)
		tcflush(t->fd, TCIFLUSH);
	t->flush = false;
	terminal_set(t->fd, &t->last);
	t->changed = true;
}

void terminal_change(struct tty *t, const struct job_message *m)
{
	t->last = m->terminal.modes;
	if (m->terminal.flush) {
		t->flush = true;
		t->kept = false;
	}
	t->pending = true;
	t->out->before = t->out->length;
	terminal_settle(t);
}

void terminal_restore(struct tty *t)
{
	struct terminal now = { 0 };

	if (!t->changed || t->fd < 0 || !terminal_is_foreground(t) || terminal_get(t->fd, &now))
		return;
	/* Others in the pipeline, or the user, may have set modes since. */
	if (now.iflag == t->last.iflag && now.oflag == t->last.oflag && now.lflag == t->last.lflag)
		terminal_set(t->fd, &t->first);
	t->changed = false;
}

void terminal_hangup(struct tty *t)
{
	if (!terminal_is_hung(t))
		sink_break(t->out);
}

/* ---- input ---- */

/*
 * Nothing is read before the task waits for it: other commands of a pipeline may read the same terminal, and
 * input that no command reads is for the next one. It is read here because only then job control decides who
 * may read.
 */

static void terminal_nothing(struct tty *t)
{
	const struct job_message m = { .what = JOB_NONE, .channel = JOB_CHANNEL_TERMINAL };

	if (t->feed == FEED_OFFERED && !session_say(t->session, &m))
		return;
	t->feed = FEED_IDLE;
	t->ready = false;
}

static ssize_t terminal_read(struct tty *t, uint8_t *to, size_t room)
{
	struct pollfd p = { .fd = t->fd, .events = POLLIN };
	struct termios modes;
	ssize_t n;

	/* Another of the pipeline was faster, or the shell has taken the terminal back. */
	if (poll(&p, 1, 0) <= 0)
		return -EAGAIN;
	n = read(t->fd, to, room);
	if (n > 0)
		return n;
	if (n < 0 && errno != EIO)
		return -EAGAIN;
	if (p.revents & POLLHUP || tcgetattr(t->fd, &modes))
		return -EPIPE;
	/* EIO: in the background, with SIGTTIN blocked. */
	if (n < 0)
		return t->orphaned ? 0 : -EAGAIN;
	return modes.c_lflag & ICANON ? 0 : -EAGAIN;
}

/* Answers the program's read. */
static void terminal_answer(struct tty *t, size_t room, bool stopped)
{
	uint8_t data[TERMINAL_LINE];
	ssize_t n = -EAGAIN;

	if (t->foreground && !stopped)
		n = terminal_read(t, data, room < sizeof(data) ? room : sizeof(data));
	if (n == -EAGAIN) {
		terminal_nothing(t);
		return;
	}
	if (n < 0) {
		terminal_hangup(t);
		return;
	}
	job_end_send(&t->session->end, JOB_CHANNEL_TERMINAL, data, n, false);
	memcpy(t->typed, data, n);
	t->typed_length = n;
	t->kept = true;
	t->sent += n ? n : 1;
	t->feed = FEED_IDLE;
	t->ready = false;
}

void terminal_read_step(struct tty *t, bool stopped)
{
	const struct job_message offer = { .what = JOB_OFFER, .channel = JOB_CHANNEL_TERMINAL };
	size_t room;

	if (t->fd < 0 || t->feed == FEED_NONE || terminal_is_hung(t))
		return;
	terminal_look(t);
	room = job_end_room(&t->session->end, JOB_CHANNEL_TERMINAL);
	if (room && (t->feed == FEED_OFFERED || t->ready))
		terminal_answer(t, room, stopped);
	else if (!room && t->ready && t->feed == FEED_IDLE && t->foreground &&
		 session_say(t->session, &offer))
		t->feed = FEED_OFFERED;
}

/* ---- what was not read ---- */

static bool terminal_push(int fd, const uint8_t *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ioctl(fd, TIOCSTI, data + i))
			return false;
	return true;
}

/*
 * Takes out all that was typed since. A byte is put in before: where the kernel forbids that
 * (dev.tty.legacy_tiocsti), nothing may be taken out, for it could not be put back. -1: so it is.
 */
static ssize_t terminal_take_later(int fd, uint8_t *later, size_t room)
{
	const uint8_t mark = 0;
	ssize_t n, at;

	if (!terminal_push(fd, &mark, 1))
		return -1;
	n = read(fd, later, room);
	for (at = n - 1; at >= 0 && later[at] != mark; at--)
		;
	if (at < 0)
		return n < 0 ? 0 : n;
	memmove(later + at, later + at + 1, n - at - 1);
	return n - 1;
}

/*
 * Puts input before what has been typed since, even before an incomplete line, by taking everything
 * out first. It has been shown already, so this is done without echo.
 */
static bool terminal_push_all(int fd, const uint8_t *rest, size_t length)
{
	struct termios modes, quiet;
	uint8_t later[TERMINAL_LINE];
	ssize_t n;

	if (tcgetattr(fd, &modes))
		return false;
	quiet = modes;
	quiet.c_iflag &= ~(ICRNL | INLCR | IGNCR | ISTRIP | IUCLC | IXON | PARMRK);
	quiet.c_lflag &= ~(ECHO | ECHONL | ISIG | ICANON);
	quiet.c_cc[VMIN] = 1;
	quiet.c_cc[VTIME] = 0;
	tcsetattr(fd, TCSANOW, &quiet);
	n = terminal_take_later(fd, later, sizeof(later));
	quiet.c_lflag |= modes.c_lflag & ICANON;
	memcpy(quiet.c_cc, modes.c_cc, sizeof(quiet.c_cc));
	tcsetattr(fd, TCSANOW, &quiet);
	/* A typed end of file was read as a zero. */
	for (ssize_t i = 0; i < n; i++)
		if (!later[i] && modes.c_lflag & ICANON)
			later[i] = modes.c_cc[VEOF];
	if (n >= 0 && length)
		terminal_push(fd, rest, length);
	else if (n >= 0 && modes.c_lflag & ICANON)
		terminal_push(fd, &modes.c_cc[VEOF], 1);
	if (n > 0)
		terminal_push(fd, later, n);
	tcsetattr(fd, TCSANOW, &modes);
	return n >= 0;
}

bool terminal_give_back(struct tty *t)
{
	uint64_t left = t->sent > t->taken ? t->sent - t->taken : 0;
	bool back;

	/* Only the last input can be unread: the next one is asked for when that is read. */
	if (left > t->typed_length)
		left = t->typed_length;
	if (!t->kept || t->sent <= t->taken || !t->foreground || terminal_is_hung(t) || t->fd < 0)
		return false;
	back = terminal_push_all(t->fd, t->typed + t->typed_length - left, left);
	t->kept = false;
	return back;
}

/* ---- output ---- */

/* Data arrive as the device is to get them. Where this terminal turns LF into CR LF, send it LF. */
void terminal_show(struct tty *t, const uint8_t *data, size_t n)
{
	tcflag_t flags = t->last.oflag;
	uint8_t text[JOB_DATA_MAX];
	struct termios modes;
	size_t kept = 0;

	if (!(t->pending && t->foreground) && t->fd >= 0 && !tcgetattr(t->fd, &modes))
		flags = modes.c_oflag;
	if (!(flags & OPOST && flags & ONLCR)) {
		sink_put(t->out, data, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (data[i] != '\r' || i + 1 == n || data[i + 1] != '\n')
			text[kept++] = data[i];
	sink_did(t->out, n - kept);
	sink_put(t->out, text, kept);
}
