// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Input that is typed at the terminal. Nothing is read before the task waits for it: other commands
 * of a pipeline may read the same terminal, and input that no command reads is for the next one. It
 * is read here because only then job control decides who may read.
 */
#include "typed.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static void typed_nothing(struct tty *t)
{
	const struct job_message m = { .what = JOB_NONE, .channel = JOB_CHANNEL_TERMINAL };

	if (t->feed == FEED_OFFERED && !session_say(t->session, &m))
		return;
	t->feed = FEED_IDLE;
	t->ready = false;
}

static ssize_t typed_read(struct tty *t, uint8_t *to, size_t room)
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
static void typed_answer(struct tty *t, size_t room, bool stopped)
{
	uint8_t data[TYPED_MAX];
	ssize_t n = -EAGAIN;

	if (t->foreground && !stopped)
		n = typed_read(t, data, room < sizeof(data) ? room : sizeof(data));
	if (n == -EAGAIN) {
		typed_nothing(t);
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

void typed_step(struct tty *t, bool stopped)
{
	const struct job_message offer = { .what = JOB_OFFER, .channel = JOB_CHANNEL_TERMINAL };
	size_t room;

	if (t->fd < 0 || t->feed == FEED_NONE || terminal_is_hung(t))
		return;
	terminal_look(t);
	room = job_end_room(&t->session->end, JOB_CHANNEL_TERMINAL);
	if (room && (t->feed == FEED_OFFERED || t->ready))
		typed_answer(t, room, stopped);
	else if (!room && t->ready && t->feed == FEED_IDLE && t->foreground &&
		 session_say(t->session, &offer))
		t->feed = FEED_OFFERED;
}

/* ---- what was not read ---- */

static bool typed_push(int fd, const uint8_t *data, size_t n)
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
static ssize_t typed_take_later(int fd, uint8_t *later, size_t room)
{
	const uint8_t mark = 0;
	ssize_t n, at;

	if (!typed_push(fd, &mark, 1))
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
static bool typed_push_all(int fd, const uint8_t *rest, size_t length)
{
	struct termios modes, quiet;
	uint8_t later[TYPED_MAX];
	ssize_t n;

	if (tcgetattr(fd, &modes))
		return false;
	quiet = modes;
	quiet.c_iflag &= ~(ICRNL | INLCR | IGNCR | ISTRIP | IUCLC | IXON | PARMRK);
	quiet.c_lflag &= ~(ECHO | ECHONL | ISIG | ICANON);
	quiet.c_cc[VMIN] = 1;
	quiet.c_cc[VTIME] = 0;
	tcsetattr(fd, TCSANOW, &quiet);
	n = typed_take_later(fd, later, sizeof(later));
	quiet.c_lflag |= modes.c_lflag & ICANON;
	memcpy(quiet.c_cc, modes.c_cc, sizeof(quiet.c_cc));
	tcsetattr(fd, TCSANOW, &quiet);
	/* A typed end of file was read as a zero. */
	for (ssize_t i = 0; i < n; i++)
		if (!later[i] && modes.c_lflag & ICANON)
			later[i] = modes.c_cc[VEOF];
	if (n >= 0 && length)
		typed_push(fd, rest, length);
	else if (n >= 0 && modes.c_lflag & ICANON)
		typed_push(fd, &modes.c_cc[VEOF], 1);
	if (n > 0)
		typed_push(fd, later, n);
	tcsetattr(fd, TCSANOW, &modes);
	return n >= 0;
}

bool typed_give_back(struct tty *t)
{
	uint64_t left = t->sent > t->taken ? t->sent - t->taken : 0;
	bool back;

	/* Only the last input can be unread: the next one is asked for when that is read. */
	if (left > t->typed_length)
		left = t->typed_length;
	if (!t->kept || t->sent <= t->taken || !t->foreground || terminal_is_hung(t) || t->fd < 0)
		return false;
	back = typed_push_all(t->fd, t->typed + t->typed_length - left, left);
	t->kept = false;
	return back;
}
