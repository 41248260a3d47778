// SPDX-License-Identifier: GPL-2.0-or-later
/* What is typed at home's terminal: asked for when a process waits to read it, a line at a time. */

#include "guest.h"

#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "input.h"

#define TYPED_LINE 4096 /* bytes of the longest line of a terminal */

/*
 * When home offers input but no process is seen to wait for it, look again after 1, 2, 4 … 50 ms.
 * After two seconds take it anyway, for programs that only check whether there is input. What they
 * do not read goes back.
 */
#define TYPED_AGAIN_MS 50
#define TYPED_UNSEEN_MS 2000

/* Input that the program has not read. poll() makes the kernel pass on what was just written. */
static uint32_t typed_unread(const struct pty *p)
{
	struct pollfd poll_it = { .fd = p->slave, .events = POLLIN };
	int n = 0;

	poll(&poll_it, 1, 0);
	return ioctl(p->slave, FIONREAD, &n) ? 0 : n;
}

static bool typed_is_read(const struct pty *p)
{
	struct input_source source = { .terminal = true };
	struct stat st;

	if (fstat(p->slave, &st))
		return true;
	source.device = st.st_rdev;
	return input_wanted(&source).bytes;
}

/* Asks for one line when a process waits for it, so that a read() gets one line, as at home. */
static void typed_look(struct guest *g)
{
	struct pty *p = &g->pty;

	p->look_at = SESSION_NEVER;
	if (!p->offered || p->slave < 0)
		return;
	/* Asked for already: the answer is on its way. */
	if (job_end_granted(&g->session.end, JOB_CHANNEL_TERMINAL)) {
		p->offered = false;
		return;
	}
	if (typed_unread(p) || (!p->raw && p->waited_ms < TYPED_UNSEEN_MS && !typed_is_read(p))) {
		p->look_at = input_look_after(g->session.now, p->wait_ms);
		p->waited_ms += p->look_at - g->session.now;
		p->wait_ms *= 2;
		if (p->wait_ms > TYPED_AGAIN_MS)
			p->wait_ms = TYPED_AGAIN_MS;
		return;
	}
	p->offered = false;
	job_end_grant(&g->session.end, JOB_CHANNEL_TERMINAL, TYPED_LINE);
}

void typed_offer(struct guest *g)
{
	struct pty *p = &g->pty;

	if (p->slave < 0)
		return;
	p->offered = true;
	p->wait_ms = 1;
	p->waited_ms = 0;
	p->look_at = g->session.now;
}

void typed_take(struct guest *g, const uint8_t *bytes, size_t n)
{
	struct pty *p = &g->pty;
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

void typed_tell(struct guest *g)
{
	struct pty *p = &g->pty;
	uint32_t unread;
	uint64_t total;

	if (p->slave < 0)
		return;
	unread = typed_unread(p);
	total = p->typed - (unread < p->last ? unread : p->last);
	/* TIOCSTI adds what was not typed at home. What was read stays read. */
	if (p->read < total)
		p->read = total;
	job_end_read(&g->session.end, JOB_CHANNEL_TERMINAL, p->read);
}

void typed_step(struct guest *g)
{
	if (g->session.now >= g->pty.look_at)
		typed_look(g);
}
