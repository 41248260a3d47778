// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The terminal of the task's session: its modes, its foreground group, and output for it. It is
 * opened again, so that nothing here waits. The stub blocks SIGTTOU, so nothing here stops it either;
 * it changes the terminal for the task only while its process group is in the foreground.
 */
#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
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
