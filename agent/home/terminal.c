// SPDX-License-Identifier: GPL-2.0-or-later
#include "home/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/log.h"
#include "job/relay.h"
#include "wire/frame.h"
#include "wire/terminal.h"

void terminal_open(struct relay_sink *sink, int fd)
{
	char name[40];
	int own;
	enum relay_kind kind;

	/* Read-write, whatever the descriptor allows: the task's session could open /dev/tty so. */
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	own = open(name, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (own < 0) {
		own = relay_adopt(fd, &kind);
	} else {
		kind = RELAY_OWN;
		close(fd);
	}
	relay_sink_open(sink, own, kind);
	sink->whole = true;
}

/* ---- modes ---- */

static void terminal_set(int fd, const struct terminal *t)
{
	struct termios modes;

	if (tcgetattr(fd, &modes))
		return;
	terminal_to_termios(t, &modes);
	tcsetattr(fd, TCSANOW, &modes);
}

static int terminal_get(int fd, struct terminal *t)
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

bool terminal_look(const struct relay_sink *sink, uint8_t out[TERMINAL_SIZE])
{
	struct terminal now;

	if (sink->fd < 0 || terminal_get(sink->fd, &now))
		return false;
	terminal_encode(out, &now);
	return true;
}

static void terminal_forget_typed(struct terminal_home *t)
{
	free(t->typed);
	t->typed = NULL;
}

void terminal_settle(struct terminal_home *t, struct relay_sink *sink)
{
	if (!t->pending || !t->foreground || sink->done < t->ready_at)
		return;
	t->pending = false;
	if (sink->fd < 0)
		return;
	if (t->flush)
		tcflush(sink->fd, TCIFLUSH);
	t->flush = false;
	terminal_set(sink->fd, &t->last);
	t->changed = true;
}

int terminal_on_change(struct terminal_home *t, struct relay_sink *sink, const uint8_t *payload,
		       uint32_t length)
{
	if (!t->given || (length != TERMINAL_SIZE && length != TERMINAL_SIZE + 4) ||
	    terminal_decode(&t->last, payload, TERMINAL_SIZE))
		return -EPROTO;
	if (length > TERMINAL_SIZE) {
		t->flush = true;
		terminal_forget_typed(t);
	}
	t->pending = true;
	t->ready_at = sink->done + relay_sink_held(sink);
	terminal_settle(t, sink);
	return 0;
}

void terminal_restore(struct terminal_home *t, const struct relay_sink *sink)
{
	struct terminal now = t->last;

	if (!t->changed || !t->foreground || sink->fd < 0 || terminal_get(sink->fd, &now))
		return;
	/* Others in the pipeline, or the user, may have set modes since. */
	if (now.iflag == t->last.iflag && now.oflag == t->last.oflag && now.lflag == t->last.lflag)
		terminal_set(sink->fd, &t->first);
	t->changed = false;
}

/* ---- output ---- */

/* Data arrive as the device is to get them. Where this terminal turns LF into CR LF, send it LF. */
int terminal_show(struct terminal_home *t, struct relay_sink *sink, uint8_t *data, size_t length)
{
	tcflag_t flags = t->last.oflag;
	struct termios modes;

	if (!(t->pending && t->foreground) && sink->fd >= 0 && !tcgetattr(sink->fd, &modes))
		flags = modes.c_oflag;
	if (flags & OPOST && flags & ONLCR)
		return relay_sink_put_text(sink, data, length);
	return relay_sink_put(sink, data, length);
}

/* ---- input ---- */

int terminal_typed(struct terminal_home *t, const uint8_t *payload, uint32_t length)
{
	terminal_forget_typed(t);
	t->typed = malloc(length + 1);
	if (!t->typed)
		return -ENOMEM;
	memcpy(t->typed, payload, length);
	t->typed_length = length;
	t->sent += length ? length : 1;
	return 0;
}

static void terminal_push(int fd, const uint8_t *data, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (!ioctl(fd, TIOCSTI, data + i))
			continue;
		log_debug("lost %zu bytes of typed-ahead input: %s", length - i, strerror(errno));
		return;
	}
}

/*
 * Puts input before what has been typed since, even before an incomplete line, by taking everything
 * out first. It has been shown already, so this is done without echo.
 */
static void terminal_push_all(int fd, const uint8_t *rest, size_t length)
{
	struct termios modes, quiet;
	uint8_t later[FRAME_TYPED_MAX];
	ssize_t n;

	if (tcgetattr(fd, &modes))
		return;
	quiet = modes;
	quiet.c_iflag &= ~(ICRNL | INLCR | IGNCR | ISTRIP | IUCLC | IXON);
	quiet.c_lflag &= ~(ECHO | ECHONL | ISIG | ICANON);
	quiet.c_cc[VMIN] = 1;
	quiet.c_cc[VTIME] = 0;
	tcsetattr(fd, TCSANOW, &quiet);
	n = read(fd, later, sizeof(later));
	quiet.c_lflag |= modes.c_lflag & ICANON;
	memcpy(quiet.c_cc, modes.c_cc, sizeof(quiet.c_cc));
	tcsetattr(fd, TCSANOW, &quiet);
	/* A typed end of file was read as a zero. */
	for (ssize_t i = 0; i < n; i++)
		if (!later[i] && modes.c_lflag & ICANON)
			later[i] = modes.c_cc[VEOF];
	if (length)
		terminal_push(fd, rest, length);
	else if (modes.c_lflag & ICANON)
		terminal_push(fd, &modes.c_cc[VEOF], 1);
	if (n > 0)
		terminal_push(fd, later, n);
	tcsetattr(fd, TCSANOW, &modes);
}

bool terminal_give_back(struct terminal_home *t, const struct relay_sink *sink)
{
	uint64_t left = t->sent > t->taken ? t->sent - t->taken : 0;
	uint32_t length = t->typed_length;

	/* The last input may not have arrived completely. */
	if (left > length)
		left = length;
	if (!t->typed || t->sent <= t->taken || !t->foreground || sink->fd < 0)
		return false;
	terminal_push_all(sink->fd, t->typed + length - left, left);
	terminal_forget_typed(t);
	return true;
}
