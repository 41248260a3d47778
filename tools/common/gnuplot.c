// SPDX-License-Identifier: GPL-2.0-or-later
/* gnuplot reads its script from a file and writes to a file: no pipe can block. */
#include "gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
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

/* gnuplot does not say that it could not write all. */
static bool is_whole(FILE *drawing)
{
	char last[16] = "";

	return !fseek(drawing, 1 - (long)sizeof(last), SEEK_END) &&
	       fread(last, 1, sizeof(last) - 1, drawing) && strstr(last, "</svg>");
}

/* 0 or an exit code after a message. A file that was there before is never removed. */
static int keep(FILE *drawing, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), err = 0;
	const bool created = fd >= 0;
	char part[4096];
	FILE *file;
	size_t n;

	if (!created && errno == EEXIST)
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file)
		return fail(EXIT_REFUSED, "%s: %s", path, strerror(errno));
	rewind(drawing);
	while (!err && (n = fread(part, 1, sizeof(part), drawing)))
		if (fwrite(part, 1, n, file) != n)
			err = errno;
	if (!err && ferror(drawing))
		err = EIO;
	if (fclose(file) && !err)
		err = errno;
	if (!err)
		return EXIT_DONE;
	if (created)
		unlink(path);
	return fail(EXIT_REFUSED, "%s: %s", path, strerror(err));
}

int gnuplot_draw(const char *path, void (*write)(FILE *script, const void *ctx), const void *ctx)
{
	FILE *script = tmpfile(), *drawing = tmpfile();
	int status, code;

	if (!script || !drawing) {
		code = fail(EXIT_REFUSED, "cannot create a temporary file: %s", strerror(errno));
		goto close_both;
	}
	write(script, ctx);
	if (fflush(script) || fseek(script, 0, SEEK_SET)) {
		code = fail(EXIT_REFUSED, "cannot write a temporary file: %s", strerror(errno));
		goto close_both;
	}
	status = run_gnuplot(fileno(script), fileno(drawing));
	if (status == -ENOENT)
		code = fail(EXIT_REFUSED,
			    "gnuplot is required to draw plots: apt-get install gnuplot-nox");
	else if (status < 0)
		code = fail(EXIT_REFUSED, "gnuplot: %s", strerror(-status));
	else if (status)
		code = fail(EXIT_REFUSED, "gnuplot failed with status %d", status);
	else if (!is_whole(drawing))
		code = fail(EXIT_REFUSED, "gnuplot has not drawn all: is there room for temporary "
					  "files?");
	else
		code = keep(drawing, path);
close_both:
	if (drawing)
		fclose(drawing);
	if (script)
		fclose(script);
	return code;
}
