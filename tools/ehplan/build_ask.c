// SPDX-License-Identifier: GPL-2.0-or-later
/* What make or ninja prints when it is asked. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "build.h"
#include "ehplan.h"
#include "remote.h"

/* The whole output, with a null byte behind it, or NULL. */
static char *read_end(int fd, size_t *length)
{
	size_t room = 1 << 16, at = 0;
	char *text = malloc(room), *more;
	ssize_t n;

	while (text && (n = read(fd, text + at, room - at - 1)) != 0) {
		if (n < 0 && errno != EINTR)
			break;
		at += n > 0 ? n : 0;
		if (at + 1 < room)
			continue;
		room *= 2;
		more = realloc(text, room);
		if (!more)
			free(text);
		text = more;
	}
	if (text)
		text[at] = '\0';
	*length = at;
	return text;
}

char *build_ask(const struct build *b, char *const *argv, int *status, size_t *length)
{
	char *text;
	int out[2];
	pid_t pid;

	if (pipe2(out, O_CLOEXEC)) {
		fail(0, "%s: %s", argv[0], strerror(errno));
		return NULL;
	}
	pid = fork();
	if (!pid) {
		remote_default_signals();
		/* what it complains of it says again when it runs */
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		if (build_environment(b, -1) || setenv("NINJA_STATUS", "\036%s/%t ", 1) ||
		    dup2(out[1], STDOUT_FILENO) < 0 || dup2(null, STDIN_FILENO) < 0 ||
		    dup2(null, STDERR_FILENO) < 0)
			_exit(EXIT_REFUSED);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(out[1]);
	text = read_end(out[0], length);
	close(out[0]);
	*status = -1;
	while (pid > 0 && waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0 || !text)
		fail(0, "%s: no process or no memory for it", argv[0]);
	else if (WIFEXITED(*status) && WEXITSTATUS(*status) == 127)
		fail(0, "%s cannot be started: is it installed?", argv[0]);
	else
		return text;
	free(text);
	return NULL;
}
