// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

#define GRACE_MS 10000 /* between SIGTERM and SIGKILL, and then until it must have ended */

struct arguments {
	bool now;
};

static const struct option_row table[] = {
	{ "now", OPTION_FLAG, offsetof(struct arguments, now), .help = "by SIGKILL, at once" },
	{ 0 },
};

/* When it was started, as in /proc/PID/stat; 0: there is none. */
static json_int_t start_of(pid_t pid)
{
	char path[32], text[1024], *at = NULL;
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	at = strrchr(text, ')');
	for (int i = 0; at && i < 20; i++)
		at = strchr(at + 1, ' ');
	return at ? strtoll(at, NULL, 10) : 0;
}

/* A descriptor of the process that the agent means; -1: it has ended. */
static int open_process(const json_t *process)
{
	pid_t pid = json_integer_value(json_object_get(process, "pid"));
	int fd = pidfd_open(pid, 0);

	if (fd >= 0 && start_of(pid) != json_integer_value(json_object_get(process, "start"))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Whether it ends in time. */
static bool ends(int fd, double until)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	double left = (until - progress_seconds(CLOCK_MONOTONIC)) * 1000;

	return poll(&p, 1, left > 0 ? (int)left + 1 : 0) > 0;
}

/* Signals all of them, and waits. 0: none is left; 1: some are; -1 after a message. */
static int signal_all(const json_t *processes, int signal)
{
	size_t n = json_array_size(processes);
	const double until = progress_seconds(CLOCK_MONOTONIC) + GRACE_MS / 1000.0;
	int *fds = calloc(n + 1, sizeof(*fds)), left = 0;

	if (!fds)
		return fail(-1, "out of memory");
	for (size_t i = 0; i < n; i++) {
		fds[i] = open_process(json_array_get(processes, i));
		if (fds[i] < 0)
			continue;
		if (pidfd_send_signal(fds[i], signal, NULL, 0) && errno == EPERM && left >= 0)
			left = fail(-1, "process %s: %s",
				    integer_of(json_array_get(processes, i), "pid"),
				    strerror(errno));
		/* one that is stopped hears of it only then */
		pidfd_send_signal(fds[i], SIGCONT, NULL, 0);
	}
	for (size_t i = 0; i < n; i++) {
		if (fds[i] < 0)
			continue;
		if (left >= 0 && !ends(fds[i], until))
			left = 1;
		close(fds[i]);
	}
	free(fds);
	return left;
}

static json_t *ask(const char *id, int *code)
{
	return client_ask(json_pack("{s:s, s:s}", "command", "cancel", "id", id), code);
}

/* Adds what was ended to `done`. An exit code. */
static int cancel(const char *id, bool now, json_t *done)
{
	int code, left;
	json_t *found = ask(id, &code), *again;
	bool killed = now;

	if (!found)
		return code;
	if (json_integer_value(json_object_get(found, "caller")) != getpid()) {
		code = fail(EXIT_REFUSED,
			    "%s: this shell is in another PID namespace than the agent, where "
			    "processes have other numbers",
			    id);
		goto free_found;
	}
	killed = killed || json_is_true(json_object_get(found, "killed"));
	left = signal_all(json_object_get(found, "processes"), now ? SIGKILL : SIGTERM);
	/* The session may have started others meanwhile. */
	for (int i = 0; left > 0 && i < 3; i++) {
		again = ask(text_of(found, "name"), &code);
		if (!again)
			break;
		killed = true;
		left = signal_all(json_object_get(again, "processes"), SIGKILL);
		json_decref(again);
	}
	if (left)
		code = left < 0 ? EXIT_REFUSED : fail(EXIT_REFUSED, "%s: it does not end", id);
	else
		code = EXIT_DONE;
	if (!code && !done && isatty(STDOUT_FILENO))
		printf("%s: %s\n", text_of(found, "name"), killed ? "killed" : "ended");
	if (!code && done)
		json_array_append_new(
			done, json_pack("{s:s, s:O, s:b}", "what", text_of(found, "what"), "id",
					json_object_get(found, "name"), "killed", (int)killed));
free_found:
	json_decref(found);
	return code;
}

static int run(int argc, char **argv, bool json)
{
	struct arguments a = { 0 };
	json_t *done = json ? json_array() : NULL;
	int code = options_parse(argc, argv, table, &a), one;

	if (!code && optind == argc)
		code = bad_usage("an ID or a session is required");
	for (int i = optind; code != EXIT_USAGE && i < argc; i++) {
		one = cancel(argv[i], a.now, done);
		code = one > code ? one : code;
	}
	if (json && !code)
		code = json_print_new(json_pack("{s:i, s:O}", "version", 1, "cancelled", done));
	json_decref(done);
	return code;
}

const struct command cancel_command = {
	.name = "cancel",
	.arguments = "[--now] ID|SESSION…",
	.help = "end tasks and sessions, here and where they run\n\n"
		"ID is one that `ehctl tasks` lists, at the home of the task or where it runs;\n"
		"SESSION is a name given with `ehctl run -n`: all of its processes end. Users\n"
		"end their own tasks, root those of all. Members of `admin-group` end tasks that\n"
		"are away or guests, at once: with `ehctl run --retry` such a task runs\n"
		"again at home.\n"
		"  --now  by SIGKILL at once, else by SIGTERM, and by SIGKILL after 10 seconds",
	.run = run,
};
