// SPDX-License-Identifier: GPL-2.0-or-later
#include "tokens.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eh/slots.h"
#include "tools/common/common.h"
#include "tools/common/runtime.h"

#define TOKEN '+' /* what GNU make puts in */

extern char **environ;

int tokens_style(const char *word)
{
	static const char *const words[] = { "auto", "pipe", "fifo", NULL };

	return parse_word(words, word);
}

bool tokens_there(void)
{
	const char *flags = getenv("MAKEFLAGS");

	return flags && (strstr(flags, "--jobserver-auth=") || strstr(flags, "--jobserver-fds="));
}

/* ---- which make ---- */

static bool is_make(const char *program)
{
	const char *name = strrchr(program, '/');

	name = name ? name + 1 : program;
	return !strcmp(name, "make") || !strcmp(name, "gmake");
}

/* The first line of `make --version`. */
static bool first_line(const char *program, char *line, size_t size)
{
	char *argv[] = { (char *)program, (char *)"--version", NULL };
	posix_spawn_file_actions_t actions;
	size_t got = 0;
	int ends[2], err;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return false;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	err = posix_spawnp(&child, program, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	while (!err && got < size - 1) {
		const ssize_t n = read(ends[0], line + got, size - 1 - got);

		if (n <= 0)
			break;
		got += n;
	}
	line[got] = '\0';
	close(ends[0]);
	if (!err)
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	return !err;
}

/*
 * Make knows a FIFO from 4.4 on; one of before ends if it is given one. That is the command, or make as
 * others find it. A program that is no GNU make, as ./make may be, is not started to ask it.
 */
static bool takes_fifo(const char *command)
{
	const bool asked = is_make(command) && (*command == '/' || !strchr(command, '/'));
	unsigned int major, minor;
	char line[128];

	if (!first_line(asked ? command : "make", line, sizeof(line)))
		return true;
	if (sscanf(line, "GNU Make %u.%u", &major, &minor) != 2)
		return false;
	return major > 4 || (major == 4 && minor >= 4);
}

/* ---- pipe or FIFO ---- */

static int open_again(int fd, int mode)
{
	char name[32];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return open(name, mode | O_NONBLOCK | O_CLOEXEC);
}

/* 0 to 2 are the command's. */
static int above_2(int fd)
{
	const int other = fcntl(fd, F_DUPFD, 3);

	close(fd);
	return other;
}

/* One pipe, of which the command gets only this end. */
static int half_pipe(int end, int *commands, int *other)
{
	int fds[2];

	if (pipe(fds))
		return -1;
	*commands = above_2(fds[end]);
	*other = *commands < 0 ? -1 : open_again(fds[!end], end ? O_RDONLY : O_WRONLY);
	close(fds[!end]);
	return *other < 0 ? -1 : 0;
}

static int make_pipes(struct tokens *t)
{
	if (half_pipe(0, &t->pipe[0], &t->write) || half_pipe(1, &t->pipe[1], &t->back))
		return -1;
	t->read = open_again(t->pipe[0], O_RDONLY);
	return t->read < 0 ? -1 : 0;
}

/* Make's words end at blanks. */
static int make_fifo(struct tokens *t)
{
	if (runtime_folder(t->folder, sizeof(t->folder), "ehctl"))
		return -1;
	snprintf(t->path, sizeof(t->path), "%s/tokens", t->folder);
	if (mkfifo(t->path, 0600))
		return -1;
	t->read = open(t->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	t->write = t->read < 0 ? -1 : open(t->path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	return t->write < 0 ? -1 : 0;
}

int tokens_make(struct tokens *t, enum tokens_style style, char **command)
{
	int err;

	*t = (struct tokens){ .read = -1, .write = -1, .back = -1, .pipe = { -1, -1 } };
	if (style == TOKENS_AUTO)
		style = takes_fifo(command[0]) ? TOKENS_FIFO : TOKENS_PIPE;
	if (!(style == TOKENS_FIFO ? make_fifo(t) : make_pipes(t)))
		return 0;
	err = errno;
	tokens_end(t);
	return fail(EXIT_REFUSED, "cannot make a %s for tokens: %s",
		    style == TOKENS_FIFO ? "FIFO" : "pipe", strerror(err));
}

/* ---- the command ---- */

/* Where its options end, as make writes them: before " -- NAME=VALUE". */
static size_t options_end(const char *flags)
{
	const char *end = !strncmp(flags, "-- ", 3) ? flags : strstr(flags, " -- ");

	return end ? (size_t)(end - flags) : strlen(flags);
}

static bool is_number(const char *word)
{
	return word && *word && strspn(word, "0123456789") == strlen(word);
}

static void leave_out_jobs(char **command)
{
	char **to = command + 1;

	if (!is_make(command[0]))
		return;
	for (char **from = to; *from; from++)
		if ((strcmp(*from, "-j") && strcmp(*from, "--jobs")) || is_number(from[1]))
			*to++ = *from;
	*to = NULL;
}

int tokens_enter(const struct tokens *t, char **command)
{
	const char *old = getenv("MAKEFLAGS") ?: "";
	const size_t at = options_end(old);
	char *flags;
	int n;

	leave_out_jobs(command);
	if (*t->path)
		n = asprintf(&flags, "%.*s -j --jobserver-auth=fifo:%s%s%s", (int)at, old, t->path,
			     at || !old[at] ? "" : " ", old + at);
	else
		n = asprintf(&flags, "%.*s -j --jobserver-auth=%d,%d%s%s", (int)at, old, t->pipe[0],
			     t->pipe[1], at || !old[at] ? "" : " ", old + at);
	if (n < 0 || setenv("MAKEFLAGS", flags, 1))
		return fail(EXIT_REFUSED, "out of memory for MAKEFLAGS");
	free(flags);
	return 0;
}

/* ---- the keeper ---- */

void tokens_keep(struct tokens *t)
{
	for (int i = 0; i < 2; i++)
		if (t->pipe[i] >= 0)
			close(t->pipe[i]);
	t->pipe[0] = t->pipe[1] = -1;
}

static unsigned int bytes_in(int fd)
{
	int n = 0;

	return ioctl(fd, FIONREAD, &n) || n < 0 ? 0 : n;
}

unsigned int tokens_free(const struct tokens *t)
{
	return bytes_in(t->read);
}

unsigned int tokens_back(const struct tokens *t)
{
	return t->back < 0 ? 0 : bytes_in(t->back);
}

int tokens_change(const struct tokens *t, int change)
{
	char bytes[EH_SLOTS_MAX];
	const size_t most = sizeof(bytes);
	size_t n = change < 0 ? -(long)change : change;
	ssize_t did;

	n = n < most ? n : most;
	if (!n)
		return 0;
	if (change < 0) {
		did = read(t->read, bytes, n);
		return did > 0 ? -(int)did : 0;
	}
	memset(bytes, TOKEN, n);
	did = write(t->write, bytes, n);
	return did > 0 ? (int)did : 0;
}

void tokens_end(struct tokens *t)
{
	tokens_keep(t);
	if (t->read >= 0)
		close(t->read);
	if (t->write >= 0)
		close(t->write);
	if (t->back >= 0)
		close(t->back);
	if (*t->path)
		unlink(t->path);
	if (*t->folder)
		rmdir(t->folder);
	*t = (struct tokens){ .read = -1, .write = -1, .back = -1, .pipe = { -1, -1 } };
}
