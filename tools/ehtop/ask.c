// SPDX-License-Identifier: GPL-2.0-or-later
#include "ask.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ASK_WORDS 8
#define ASK_MOST (64u << 20) /* bytes of one answer */

extern char **environ;

/* Beside this program, or in bin of the directory that this one's libexec/ehsched is in. */
static bool ask_find(char *path, size_t size)
{
	static const char *const places[] = { "ehctl", "../../bin/ehctl" };
	char own[PATH_MAX], *folder;
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

	if (n < 0)
		return false;
	own[n] = '\0';
	folder = dirname(own);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (snprintf(path, size, "%s/%s", folder, places[i]) < (int)size &&
		    !access(path, X_OK))
			return true;
	}
	return false;
}

struct ask {
	pid_t pid;
	int fd; /* what it prints; -1: all has been read */
	char *text;
	size_t length, room;
	const char *trouble; /* why it could not be run */
};

static void ask_fail(struct ask *a, const char *trouble)
{
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
	if (!a->trouble)
		a->trouble = trouble;
}

/* 0, or a number of errno. */
static int ask_spawn(struct ask *a, const char *path, char **argv, int out)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	int err = posix_spawn_file_actions_init(&actions);

	if (err)
		return err;
	err = posix_spawnattr_init(&attributes);
	if (err)
		goto destroy_actions;
	err = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, out, 1);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, out, 2);
	/* signals wait in this program, but for poll() */
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	if (!err)
		err = posix_spawn(&a->pid, path, &actions, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
destroy_actions:
	posix_spawn_file_actions_destroy(&actions);
	return err;
}

struct ask *ask_begin(const char *const *words)
{
	char path[PATH_MAX], *argv[ASK_WORDS + 2] = { (char *)"ehctl" };
	struct ask *a = calloc(1, sizeof(*a));
	int pipes[2], err;

	if (!a)
		return NULL;
	a->fd = -1;
	for (int i = 0; i < ASK_WORDS && words[i]; i++)
		argv[i + 1] = (char *)words[i];
	if (!ask_find(path, sizeof(path))) {
		ask_fail(a, "ehctl is not installed where this program expects it");
		return a;
	}
	if (pipe2(pipes, O_CLOEXEC)) {
		ask_fail(a, strerror(errno));
		return a;
	}
	err = ask_spawn(a, path, argv, pipes[1]);
	close(pipes[1]);
	a->fd = pipes[0];
	if (err)
		ask_fail(a, strerror(err));
	return a;
}

int ask_fd(const struct ask *a)
{
	return a->fd;
}

void ask_read(struct ask *a)
{
	const size_t room = a->room ? 2 * a->room : 4096;
	char *more;
	ssize_t n;

	if (a->room - a->length < 2) {
		more = room <= ASK_MOST ? realloc(a->text, room) : NULL;
		if (!more) {
			ask_fail(a, "its answer is too long");
			return;
		}
		a->text = more;
		a->room = room;
	}
	n = read(a->fd, a->text + a->length, a->room - a->length - 1);
	if (n > 0)
		a->length += n;
	else if (!n || errno != EINTR)
		ask_fail(a, NULL);
}

int ask_end(struct ask *a, char **said)
{
	int status, code = -1;

	if (!a) {
		*said = strdup("ehctl: out of memory");
		if (!*said)
			abort(); /* there is not even memory to say so */
		return -1;
	}
	if (a->pid) {
		if (a->fd >= 0)
			kill(a->pid, SIGTERM);
		ask_fail(a, NULL);
		while (waitpid(a->pid, &status, 0) < 0 && errno == EINTR)
			;
		code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	if (a->trouble) {
		free(a->text);
		code = -1;
		if (asprintf(said, "ehctl: %s", a->trouble) < 0)
			abort();
	} else {
		*said = a->text ?: strdup("");
		if (!*said)
			abort();
		(*said)[a->length] = '\0';
	}
	free(a);
	return code;
}

int ask(const char *const *words, char **said)
{
	struct ask *a = ask_begin(words);

	while (a && ask_fd(a) >= 0)
		ask_read(a);
	return ask_end(a, said);
}

json_t *ask_json(struct ask *a, char **said)
{
	json_error_t error;
	json_t *answer = NULL;

	if (!ask_end(a, said))
		answer = json_loads(*said, 0, &error);
	if (json_is_object(answer))
		return answer;
	json_decref(answer);
	return NULL;
}
