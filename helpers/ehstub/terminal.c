// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The terminal of the task's session: its modes, its foreground group, and output for it. It is
 * opened again, so that nothing here waits. The stub blocks SIGTTOU, so nothing here stops it either;
 * it changes the terminal for the task only while its process group is in the foreground.
 */
#include "stub.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

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

void terminal_open(struct stub *s)
{
	struct sink *k = sink_of(s, JOB_CHANNEL_TERMINAL);
	struct tty *t = &s->tty;
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
	own = descriptor_above_2(own);
	k->kind = own < 0 ? KIND_OTHER : KIND_OWN;
	if (own >= 0 && t->fd > 2)
		close(t->fd);
	if (own >= 0)
		t->fd = own;
	k->fd = t->fd;
	t->feed = FEED_IDLE;
}

/* ---- foreground ---- */

static bool terminal_is_foreground(const struct tty *t)
{
	pid_t group = tcgetpgrp(t->fd);

	return group < 0 || group == getpgrp();
}

void terminal_look(struct stub *s)
{
	struct job_message m = { .what = JOB_FOREGROUND };
	struct tty *t = &s->tty;

	if (t->fd < 0 || t->hung || t->orphaned || s->phase != PHASE_RUNS)
		return;
	m.foreground = terminal_is_foreground(t);
	if (m.foreground == t->foreground)
		return;
	/* The task's changes meanwhile go first, otherwise those of others. */
	if (m.foreground && !t->pending) {
		t->tell = true;
		terminal_step(s);
		if (t->tell)
			return;
	}
	if (!session_say(&s->session, &m))
		return;
	t->foreground = m.foreground;
	terminal_settle(s);
}

/* ---- modes ---- */

void terminal_step(struct stub *s)
{
	struct job_message m = { .what = JOB_TERMINAL, .channel = JOB_CHANNEL_TERMINAL };
	struct job_message end = { .what = JOB_END, .channel = JOB_CHANNEL_TERMINAL };
	struct tty *t = &s->tty;

	if (t->hung && t->feed != FEED_NONE && session_say(&s->session, &end))
		t->feed = FEED_NONE;
	if (!t->tell || s->phase != PHASE_RUNS)
		return;
	m.terminal.flush = t->tell_flush;
	if (t->fd >= 0 && !terminal_get(t->fd, &m.terminal.modes) && !session_say(&s->session, &m))
		return;
	t->tell = t->tell_flush = false;
}

void terminal_settle(struct stub *s)
{
	struct tty *t = &s->tty;

	if (!t->pending || !t->foreground || t->before)
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

void terminal_change(struct stub *s, const struct job_message *m)
{
	struct tty *t = &s->tty;

	t->last = m->terminal.modes;
	if (m->terminal.flush) {
		t->flush = true;
		t->kept = false;
	}
	t->pending = true;
	t->before = sink_of(s, JOB_CHANNEL_TERMINAL)->length;
	terminal_settle(s);
}

void terminal_restore(struct stub *s)
{
	struct tty *t = &s->tty;
	struct terminal now = { 0 };

	if (!t->changed || t->fd < 0 || !terminal_is_foreground(t) || terminal_get(t->fd, &now))
		return;
	/* Others in the pipeline, or the user, may have set modes since. */
	if (now.iflag == t->last.iflag && now.oflag == t->last.oflag && now.lflag == t->last.lflag)
		terminal_set(t->fd, &t->first);
	t->changed = false;
}

void terminal_hangup(struct stub *s)
{
	struct sink *k = sink_of(s, JOB_CHANNEL_TERMINAL);

	if (s->tty.hung)
		return;
	s->tty.hung = true;
	k->broken = k->fd >= 0;
	sink_drop(s, k);
}

/* ---- output ---- */

/* Data arrive as the device is to get them. Where this terminal turns LF into CR LF, send it LF. */
void terminal_show(struct stub *s, const uint8_t *data, size_t n)
{
	struct sink *k = sink_of(s, JOB_CHANNEL_TERMINAL);
	struct tty *t = &s->tty;
	tcflag_t flags = t->last.oflag;
	uint8_t text[JOB_DATA_MAX];
	struct termios modes;
	size_t kept = 0;

	if (!(t->pending && t->foreground) && t->fd >= 0 && !tcgetattr(t->fd, &modes))
		flags = modes.c_oflag;
	if (!(flags & OPOST && flags & ONLCR)) {
		sink_put(s, k, data, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (data[i] != '\r' || i + 1 == n || data[i + 1] != '\n')
			text[kept++] = data[i];
	k->done += n - kept;
	job_end_grant(&s->session.end, k->channel, n - kept);
	sink_put(s, k, text, kept);
}
