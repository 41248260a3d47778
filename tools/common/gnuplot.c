// SPDX-License-Identifier: GPL-2.0-or-later
/* gnuplot reads its script from a file and writes to a file: no pipe can block. */
#include "gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"

/* Exit status of gnuplot with this script as input and this file as output; -errno. */
static int run_gnuplot(int script, int output)
{
	static char *const argv[] = { "gnuplot", "-", NULL };
	extern char **environ;
	posix_spawn_file_actions_t actions;
	int err, status;
	pid_t pid;

	err = posix_spawn_file_actions_init(&actions);
	if (err)
		return -err;
	err = posix_spawn_file_actions_adddup2(&actions, script, STDIN_FILENO);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (!err)
		err = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (err)
		return -err;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int gnuplot_draw(const char *path, void (*write)(FILE *script, const void *ctx), const void *ctx)
{
	FILE *script = tmpfile();
	int output, status, code = 0;

	if (!script)
		return fail(EXIT_REFUSED, "cannot create a temporary file: %s", strerror(errno));
	write(script, ctx);
	if (fflush(script) || fseek(script, 0, SEEK_SET)) {
		code = fail(EXIT_REFUSED, "cannot create a temporary file: %s", strerror(errno));
		goto close_script;
	}
	output = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (output < 0) {
		code = fail(EXIT_REFUSED, "%s: %s", path, strerror(errno));
		goto close_script;
	}
	status = run_gnuplot(fileno(script), output);
	if (status == -ENOENT)
		code = fail(EXIT_REFUSED,
			    "gnuplot is required to draw plots: apt-get install gnuplot-nox");
	else if (status < 0)
		code = fail(EXIT_REFUSED, "gnuplot: %s", strerror(-status));
	else if (status)
		code = fail(EXIT_REFUSED, "gnuplot failed with status %d", status);
	if (close(output) && !code)
		code = fail(EXIT_REFUSED, "%s: %s", path, strerror(errno));
	if (code)
		unlink(path);
close_script:
	fclose(script);
	return code;
}
