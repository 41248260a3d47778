// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The program is executed here after all, or the user hears why it is not: what a shell says of it, and the
 * status that it ends with.
 */
#include "fallback.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "descriptor.h"
#include "helpers/end/calls.h"
#include "helpers/end/text.h"
#include "stub.h"
#include "wire/clean.h"

#define FALLBACK_SAY_MS 1000
#define FALLBACK_MESSAGE (PATH_MAX + 1024)
#define FALLBACK_LINE 256 /* bytes of a #! line that the kernel looks at */
#define FALLBACK_PARTS 8
#define FALLBACK_TOKEN 128 /* bytes of the longest, with its NUL */

const char *fallback_caller(const struct stub *s)
{
	if (s->rsh)
		return "ehrsh: ";
	return s->explicit ? "ehctl exec: " : "";
}

int fallback_status(const struct stub *s)
{
	return s->rsh ? STUB_NO_TRANSPORT : 1;
}

void fallback_say(const char *const *parts, int n)
{
	const int64_t until = calls_now() + FALLBACK_SAY_MS;
	int64_t left = FALLBACK_SAY_MS;
	char line[FALLBACK_MESSAGE];
	size_t length = 0, at = 0;
	struct pollfd p = { .events = POLLOUT };
	enum kind kind = KIND_OTHER;
	ssize_t done = 0;

	/* Names of users and words of other nodes are in it. In one piece, so that what others say is not in between. */
	for (int i = 0; i < n; i++) {
		clean_text(line + length, sizeof(line) - length, parts[i]);
		length += strlen(line + length);
	}
	line[length++] = '\n';
	p.fd = fcntl(2, F_DUPFD_CLOEXEC, 3);
	if (p.fd >= 0)
		kind = descriptor_adopt(p.fd);
	else
		p.fd = 2;
	/* A terminal may be held by its user, a pipe be full: nobody can be told then. */
	while (at < length && left > 0 && (done >= 0 || done == -EAGAIN) &&
	       poll(&p, 1, (int)left) > 0) {
		done = descriptor_write(p.fd, kind, (const uint8_t *)line + at, length - at);
		if (done > 0)
			at += done;
		left = until - calls_now();
	}
	if (p.fd != 2)
		close(p.fd);
}

static void fallback_complain(const struct stub *s, const char *what, const char *why)
{
	const char *parts[] = { fallback_caller(s), what, ": ", why };

	fallback_say(parts, 4);
}

void fallback_by_shell(struct stub *s)
{
	s->argv--;
	s->argv[0] = (char *)"sh";
	s->argv[1] = (char *)s->path;
	s->path = "/bin/sh";
	s->by_shell = true;
}

/* ---- a program that cannot be executed ---- */

/* The interpreter that the #! line names. NULL: there is no such line. */
static const char *fallback_interpreter(const char *path, char line[FALLBACK_LINE])
{
	char *from = line + 2;

	if (text_read(AT_FDCWD, path, line, FALLBACK_LINE) < 2 || line[0] != '#' || line[1] != '!')
		return NULL;
	line[strcspn(line, "\n")] = '\0';
	from += strspn(from, " \t");
	from[strcspn(from, " \t")] = '\0';
	return *from ? from : NULL;
}

static int fallback_tell(const struct stub *s, const char *node, int error)
{
	const bool found = !access(s->path, X_OK);
	const char *parts[FALLBACK_PARTS], *why = strerror(error), *interpreter = NULL;
	char line[FALLBACK_LINE];
	int n = 0;

	parts[n++] = fallback_caller(s);
	if (node) {
		parts[n++] = node;
		parts[n++] = ": ";
	}
	parts[n++] = s->path;
	parts[n++] = ": ";
	/* The error is not one of the file itself, if that can be seen here. */
	if (found && (error == ENOENT || error == EACCES || error == ELOOP || error == ENOTDIR))
		interpreter = fallback_interpreter(s->path, line);
	if (interpreter) {
		parts[n++] = interpreter;
		parts[n++] = ": bad interpreter: ";
	} else if (found && error == ENOENT) {
		why = "cannot execute: required file not found";
	}
	parts[n++] = why;
	fallback_say(parts, n);
	return error == ENOENT || error == ENOTDIR ? 127 : 126;
}

/* ---- failures ---- */

/* This process is as the task was, for another program. */
static void fallback_restore(struct stub *s)
{
	witness_end(&s->witness);
	if (s->raised)
		setrlimit(RLIMIT_NOFILE, &s->files);
	calls_mask(s->sigmask);
}

void fallback_run_here(struct stub *s)
{
	fallback_restore(s);
	execve(s->path, s->argv, environ);
	if (errno == ENOEXEC) {
		const char *path = s->path;

		fallback_by_shell(s);
		execve(s->path, s->argv, environ);
		errno = ENOEXEC;
		s->path = path;
	}
	_exit(fallback_tell(s, NULL, errno));
}

/* The node cannot execute it: once more, with sh. Returns if that is not possible. */
static void fallback_again_by_shell(struct stub *s)
{
	const char mark[] = { FALLBACK_BY_SHELL, '\0' };
	char token[FALLBACK_TOKEN];

	if (s->by_shell || strlen(s->token) + sizeof(mark) > sizeof(token))
		return;
	strcat(strcpy(token, s->token), mark);
	s->argv[-2] = token;
	fallback_restore(s);
	execve("/proc/self/exe", s->all, environ);
}

static void __attribute__((noreturn)) fallback_fail(struct stub *s, int status)
{
	witness_end(&s->witness);
	_exit(status);
}

void fallback_give_up(struct stub *s, const char *what, int error)
{
	/* The agent knows of the job, and not that it stays. */
	if (s->session.known) {
		session_note(&s->session, NOTE_STAYS);
		session_flush(&s->session, 0);
	}
	if (!s->explicit)
		fallback_run_here(s);
	/* Signals that were not read are pending: one of them may end us here. */
	fallback_restore(s);
	fallback_complain(s, error == EMFILE ? "descriptors for itself (ulimit -n)" : what,
			  strerror(error));
	_exit(fallback_status(s));
}

void fallback_refused(struct stub *s, uint32_t reason, int error, const char *text)
{
	int status;

	if (!s->explicit || !reason)
		fallback_run_here(s);
	if (error == ENOEXEC)
		fallback_again_by_shell(s);
	if (error) {
		status = fallback_tell(s, s->token + 1, error);
		fallback_fail(s, s->rsh ? fallback_status(s) : status);
	}
	fallback_complain(s, s->token + 1, text);
	fallback_fail(s, fallback_status(s));
}
