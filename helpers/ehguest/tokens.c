// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tokens of make's jobserver. All processes of the task have one pipe here, as at home: what one puts back another
 * takes at once, and descriptors and a path lead to the same. Home gives one token when a process waits for it, and
 * gets back what lies in the pipe.
 */

#include "tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helpers/end/open.h"
#include "input.h"

#define TOKENS_LIE_MS \
	10 /* in the pipe since the last came; a make that puts one back and takes another needs less */
#define TOKENS_KEPT_MS 1000 /* there, for a process that is about to take it */
#define TOKENS_AGAIN_MS 50 /* at most, between two looks */
#define TOKENS_WAITS_MS 5000 /* after one that waits: the others wait, too */
#define TOKENS_PARTS 16 /* are sent home at once */
#define TOKENS_BACK_MAX \
	16000 /* until one that was not taken is had again for programs that only look */

void tokens_init(struct tokens *t, struct session *session)
{
	*t = (struct tokens){
		.session = session, .fd = -1, .lie_at = SESSION_NEVER, .back_ms = TOKENS_KEPT_MS
	};
}

/* ---- the start ---- */

static bool tokens_is_nonblocking(const struct job_spec *spec, uint32_t channel)
{
	return spec->files[channel - JOB_CHANNEL_FILES].flags & JOB_OPEN_NONBLOCK;
}

/* Where a variable names the path that home's end has put there for ours; NULL: it does not. */
static const char *tokens_mark(const char *variable)
{
	return strstr(variable, JOB_TOKENS_PATH);
}

int tokens_open(struct tokens *t, const struct job_spec *spec)
{
	struct stat st;
	char name[40];
	int err;

	t->from = open_tokens(spec->files, spec->nfiles, JOB_OPEN_READ);
	t->to = open_tokens(spec->files, spec->nfiles, JOB_OPEN_WRITE);
	if (!t->from || !t->to || t->from == t->to)
		return 0;
	if (pipe2(t->its, O_CLOEXEC))
		return -errno;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", t->its[0]);
	t->fd = open(name, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (t->fd < 0 || fstat(t->fd, &st)) {
		err = -errno;
		goto close_pipe;
	}
	t->inode = st.st_ino;
	for (const char **v = spec->envp; *v; v++)
		t->path |= tokens_mark(*v) != NULL;
	if (tokens_is_nonblocking(spec, t->from))
		fcntl(t->its[0], F_SETFL, O_NONBLOCK);
	if (tokens_is_nonblocking(spec, t->to))
		fcntl(t->its[1], F_SETFL, O_NONBLOCK);
	return 0;
close_pipe:
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
	close(t->its[0]);
	close(t->its[1]);
	return err;
}

bool tokens_has(const struct tokens *t, uint32_t channel)
{
	return t->fd >= 0 && (channel == t->from || channel == t->to);
}

int tokens_end(const struct tokens *t, uint32_t channel)
{
	return t->its[channel == t->to];
}

/* The path is that of our descriptor, which is there as long as any process of the task. */
void tokens_name(const struct tokens *t, pid_t guest, const struct job_spec *spec)
{
	for (const char **v = spec->envp; t->path && *v; v++) {
		const char *at = tokens_mark(*v), *rest;
		size_t room = strlen(*v) + 40;
		char *text = at ? malloc(room) : NULL;

		if (!text)
			continue;
		rest = at + strlen(JOB_TOKENS_PATH);
		rest += strspn(rest, "0123456789");
		snprintf(text, room, "%.*s" JOB_TOKENS_FIFO "/proc/%d/fd/%d%s", (int)(at - *v), *v,
			 (int)guest, t->fd, rest);
		*v = text;
	}
}

/* ---- while the task runs ---- */

static int tokens_lying(const struct tokens *t)
{
	int n;

	return ioctl(t->fd, FIONREAD, &n) ? 0 : n;
}

/* Whether a process waits for one; or has opened the pipe to look for one without waiting. */
static bool tokens_wanted(const struct tokens *t, bool looks)
{
	const struct input_source source = { .inode = t->inode, .opened = looks };

	return input_wanted(&source).bytes;
}

void tokens_offer(struct tokens *t)
{
	if (t->exited)
		return;
	t->offered = true;
	t->wait_ms = 1;
	t->look_at = t->session->now;
}

/* What was lying there has gone, to a process or home. */
static void tokens_gone(struct tokens *t, bool taken)
{
	t->lie_at = SESSION_NEVER;
	if (!t->ahead)
		return;
	t->ahead = false;
	t->back_ms = taken ? TOKENS_KEPT_MS : 2 * t->back_ms;
	if (t->back_ms > TOKENS_BACK_MAX)
		t->back_ms = TOKENS_BACK_MAX;
	t->ahead_at = taken ? t->session->now : t->session->now + t->back_ms;
}

/* Whether one was put there since the last look. */
static bool tokens_moved(struct tokens *t)
{
	const struct timespec before = t->put;
	struct stat st;

	if (!fstat(t->fd, &st))
		t->put = st.st_mtim;
	return t->put.tv_sec != before.tv_sec || t->put.tv_nsec != before.tv_nsec;
}

static void tokens_lie(struct tokens *t)
{
	t->since = t->session->now;
	t->lie_at = t->session->now + TOKENS_LIE_MS;
	tokens_moved(t);
}

/* Sends home what lies there. */
static void tokens_return(struct tokens *t)
{
	uint8_t bytes[256];
	ssize_t n = 1;

	/* A program that puts more and more there does not hold up the rest. */
	for (int i = 0; i < TOKENS_PARTS && n > 0 && tokens_lying(t); i++) {
		size_t room = t->closed ? sizeof(bytes) : job_end_room(&t->session->end, t->to);

		if (!room || !session_can_say(t->session)) {
			t->lie_at = t->session->now + TOKENS_AGAIN_MS;
			return;
		}
		n = read(t->fd, bytes, room < sizeof(bytes) ? room : sizeof(bytes));
		if (n > 0 && !t->closed)
			job_end_send(&t->session->end, t->to, bytes, n, false);
		if (n > 0)
			t->owed -= n < t->owed ? n : t->owed;
	}
	/* If there is more, poll() tells. */
	tokens_gone(t, n <= 0);
}

void tokens_data(struct tokens *t, const uint8_t *bytes, size_t n)
{
	ssize_t wrote;

	/* What is not said to be read goes back at home. */
	if (t->exited)
		return;
	wrote = write(t->fd, bytes, n);
	if (wrote > 0)
		t->got += wrote;
	job_end_read(&t->session->end, t->from, t->got);
	tokens_lie(t);
}

void tokens_over(struct tokens *t, uint32_t channel)
{
	if (channel == t->to)
		t->closed = true;
	else
		t->offered = false;
}

static void tokens_ask(struct tokens *t)
{
	job_end_grant(&t->session->end, t->from, 1);
	t->offered = false;
}

/* Home has some: asks for one if it is wanted. */
static void tokens_look(struct tokens *t)
{
	if (job_end_granted(&t->session->end, t->from)) {
		t->offered = false;
		return;
	}
	if (!tokens_lying(t)) {
		if (tokens_wanted(t, false)) {
			t->waits_until = t->session->now + TOKENS_WAITS_MS;
			t->ahead = false;
			tokens_ask(t);
			return;
		}
		/* Those that never wait, as ninja: they find one, or it goes back. */
		if (t->path && t->session->now >= t->waits_until &&
		    t->session->now >= t->ahead_at && tokens_wanted(t, true)) {
			t->ahead = true;
			tokens_ask(t);
			return;
		}
	}
	t->wait_ms = 2 * t->wait_ms < TOKENS_AGAIN_MS ? 2 * t->wait_ms : TOKENS_AGAIN_MS;
	t->look_at = input_look_after(t->session->now, t->wait_ms);
}

static void tokens_look_lying(struct tokens *t)
{
	const bool may_stay = !t->exited && t->session->now < t->since + TOKENS_KEPT_MS;

	if (!tokens_lying(t))
		tokens_gone(t, true);
	else if (may_stay && (t->ahead || tokens_wanted(t, false)))
		t->lie_at = input_look_after(t->session->now, TOKENS_AGAIN_MS);
	else if (may_stay && tokens_moved(t))
		t->lie_at = t->session->now + TOKENS_LIE_MS;
	else
		tokens_return(t);
}

int64_t tokens_look_at(const struct tokens *t)
{
	if (!job_end_writes(&t->session->end))
		return SESSION_NEVER;
	return t->offered && t->look_at < t->lie_at ? t->look_at : t->lie_at;
}

struct pollfd tokens_poll(const struct tokens *t)
{
	return (struct pollfd){ .fd = job_end_writes(&t->session->end) && t->lie_at == SESSION_NEVER
					      ? t->fd
					      : -1,
				.events = POLLIN };
}

void tokens_step(struct tokens *t)
{
	if (t->fd < 0 || !job_end_writes(&t->session->end))
		return;
	if (t->ready && t->lie_at == SESSION_NEVER)
		tokens_lie(t);
	t->ready = false;
	if (t->session->now >= t->lie_at)
		tokens_look_lying(t);
	if (t->offered && t->session->now >= t->look_at)
		tokens_look(t);
}

void tokens_exited(struct tokens *t)
{
	if (t->fd < 0)
		return;
	t->exited = true;
	t->offered = false;
	t->owed = tokens_lying(t);
	t->lie_at = t->session->now;
}

bool tokens_owes(const struct tokens *t, bool childless)
{
	if (t->fd < 0 || t->closed)
		return false;
	/* What children put there later does not hold up the exit. */
	return tokens_lying(t) && (t->owed || childless);
}
