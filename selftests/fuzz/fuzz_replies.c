// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The commands of ehctl that print what the agent says, with an agent that says anything: no character that
 * a terminal may take for an order is printed, and no half of one.
 *
 * Two bytes say which command, and how it is asked; then come replies, each on a line: for each connection the
 * next one, and the last again; for `watch` all of them.
 */
#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "input.h"
#include "tools/ehctl/ehctl.h"
#include "wire/clean.h"
#include "wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CALLER 7
#define CONNECTIONS 8 /* then the agent has gone */

enum { FLAG_JSON = 1, FLAG_TERMINAL = 2 };

static struct play {
	const char *replies;
	size_t left;
	const char *last;
	size_t last_length;
	bool all, terminal;
	int agent; /* its end of the connection; -1: none */
	unsigned int connections;
} play;

/* ---- the agent ---- */

/* The next line becomes the last; false: there is none. */
static bool play_next(void)
{
	const char *end;

	if (!play.left)
		return false;
	end = memchr(play.replies, '\n', play.left);
	play.last = play.replies;
	play.last_length = end ? (size_t)(end - play.replies) : play.left;
	play.replies += play.last_length + !!end;
	play.left -= play.last_length + !!end;
	return true;
}

int connect(int fd, const struct sockaddr *to, socklen_t length)
{
	uint8_t header[FRAME_HEADER];
	char *text = NULL;
	size_t size;
	int pair[2];
	FILE *out;

	if (play.agent >= 0)
		close(play.agent);
	play.agent = -1;
	if (++play.connections > CONNECTIONS) {
		errno = ECONNREFUSED;
		return -1;
	}
	must(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	must(dup2(pair[0], fd) == fd && !close(pair[0]));
	play.agent = pair[1];
	/* In one piece: the socket has room for few small ones. */
	out = open_memstream(&text, &size);
	must(out);
	play_next();
	do {
		frame_header(header, play.all ? FRAME_EVENT : FRAME_REPLY, play.last_length);
		fwrite(header, sizeof(header), 1, out);
		fwrite(play.last, play.last_length, 1, out);
	} while (play.all && play_next());
	must(!fclose(out) && send(play.agent, text, size, MSG_DONTWAIT) == (ssize_t)size);
	free(text);
	shutdown(play.agent, SHUT_WR);
	return 0;
}

/* ---- the world around a command ---- */

pid_t getpid(void)
{
	return CALLER;
}

int pidfd_open(pid_t pid, unsigned int flags)
{
	errno = ESRCH;
	return -1;
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
	return 0;
}

int isatty(int fd)
{
	return play.terminal && fd == STDOUT_FILENO;
}

struct passwd *getpwuid(uid_t uid)
{
	static struct passwd user = { .pw_name = (char *)"user" };

	return uid % 2 ? &user : NULL;
}

/* ---- a command ---- */

static const struct {
	const struct command *command;
	const char *words[3];
} asked[] = {
	{ &status_command, { NULL } },		{ &tree_command, { NULL } },
	{ &tasks_command, { NULL } },		{ &why_command, { "0.0:7" } },
	{ &history_command, { NULL } },		{ &history_command, { "--csv" } },
	{ &cancel_command, { "0.0:7" } },	{ &set_command, { "threshold=2" } },
	{ &drain_command, { "n1", "--wait" } }, { &drain_command, { "n1" } },
	{ &undrain_command, { "n1" } },		{ &owner_command, { NULL } },
	{ &watch_command, { NULL } },		{ &doctor_command, { NULL } },
	{ &leave_command, { NULL } },		{ &reload_command, { NULL } },
	{ &invite_command, { NULL } },		{ &revoke_command, { "n9" } },
	{ &revoke_command, { "--list" } },
};

/* Lines end with LF, and those of CSV with CR LF. */
static void check(char *text, size_t length)
{
	must(strlen(text) == length);
	for (char *c = text; *c; c++)
		if (*c == '\n' || (*c == '\r' && c[1] == '\n'))
			*c = ' ';
	must(clean_is(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *out = stdout, *errors = stderr;
	char *words[8], *text[2] = { NULL };
	size_t length[2], n = 0, which;
	uint8_t flags;

	if (size < 3)
		return 0;
	which = data[0] % (sizeof(asked) / sizeof(*asked));
	flags = data[1];
	play = (struct play){ .replies = (const char *)data + 2, .left = size - 2, .agent = -1 };
	play.all = asked[which].command == &watch_command;
	play.terminal = flags & FLAG_TERMINAL;
	command_name = asked[which].command->name;
	command_usage = asked[which].command->arguments;
	words[n++] = strdup(command_name);
	for (size_t i = 0; asked[which].words[i]; i++)
		words[n++] = strdup(asked[which].words[i]);
	words[n] = NULL;
	stdout = open_memstream(&text[0], &length[0]);
	stderr = open_memstream(&text[1], &length[1]);
	must(stdout && stderr);
	asked[which].command->run((int)n, words, flags & FLAG_JSON);
	must(!fclose(stdout) && !fclose(stderr));
	stdout = out;
	stderr = errors;
	for (size_t i = 0; i < 2; i++) {
		check(text[i], length[i]);
		free(text[i]);
	}
	/* getopt moves the words, and leaves none out. */
	for (size_t i = 0; i < n; i++)
		free(words[i]);
	if (play.agent >= 0)
		close(play.agent);
	return 0;
}
