// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehtop.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <spawn.h>
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

static char *ask_read(int fd)
{
	char *text = NULL, *more;
	size_t length = 0, room = 0;
	ssize_t n = 1;

	while (n && length < ASK_MOST) {
		if (room - length < 2) {
			room = room ? 2 * room : 4096;
			more = realloc(text, room);
			if (!more)
				goto free_text;
			text = more;
		}
		n = read(fd, text + length, room - length - 1);
		if (n < 0 && errno != EINTR)
			goto free_text;
		length += n > 0 ? n : 0;
	}
	text[length] = '\0';
	return text;

free_text:
	free(text);
	return NULL;
}

int ask(const char *const *words, char **said)
{
	char path[PATH_MAX], *argv[ASK_WORDS + 2] = { (char *)"ehctl" };
	posix_spawn_file_actions_t actions;
	int pipes[2], status, err = ENOENT, code = -1;
	const char *trouble = "ehctl is not installed where this program expects it";
	pid_t pid;

	*said = NULL;
	for (int i = 0; i < ASK_WORDS && words[i]; i++)
		argv[i + 1] = (char *)words[i];
	if (!ask_find(path, sizeof(path)))
		goto say;
	trouble = NULL;
	if (pipe2(pipes, O_CLOEXEC)) {
		err = errno;
		goto say;
	}
	err = posix_spawn_file_actions_init(&actions);
	if (err)
		goto close_pipes;
	err = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, pipes[1], 1);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, pipes[1], 2);
	if (!err)
		err = posix_spawn(&pid, path, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (err)
		goto close_pipes;
	close(pipes[1]);
	*said = ask_read(pipes[0]);
	close(pipes[0]);
	err = *said ? 0 : ENOMEM;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	goto say;

close_pipes:
	close(pipes[0]);
	close(pipes[1]);
say:
	if (!*said && asprintf(said, "ehctl: %s", trouble ? trouble : strerror(err)) < 0)
		abort(); /* there is not even memory to say so */
	return code;
}

json_t *ask_json(const char *command, char **said)
{
	const char *const words[] = { command, "--json", NULL };
	json_error_t error;
	json_t *answer = NULL;

	if (!ask(words, said))
		answer = json_loads(*said, 0, &error);
	if (json_is_object(answer))
		return answer;
	json_decref(answer);
	return NULL;
}
