// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A fuzz target without libFuzzer: `replay DIRECTORY` gives it the empty input and each file there,
 * and prints how many these were. One that breaks it, or takes more than a minute, is named.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONGEST 60 /* seconds for one input, of which none needs one */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Not all targets have one. */
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

static const char *now = "the empty input";

static void on_end(int sig)
{
	static const char took[] = " takes too long\n", broke[] = " breaks the target\n";
	const char *what = sig == SIGALRM ? took : broke;

	(void)!write(STDERR_FILENO, now, strlen(now));
	(void)!write(STDERR_FILENO, what, strlen(what));
	_exit(1);
}

/* Without stdio: a target may have an fopen() of its own. */
static void *input_read(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *data;
	ssize_t got;

	if (fd < 0)
		return NULL;
	data = fstat(fd, &st) ? NULL : malloc(st.st_size + 1);
	got = data ? read(fd, data, st.st_size) : -1;
	close(fd);
	if (got == st.st_size) {
		*size = got;
		return data;
	}
	free(data);
	return NULL;
}

int main(int argc, char **argv)
{
	static const int ends[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM };
	char pattern[4096];
	glob_t files;
	int err;

	if (argc != 2) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return 2;
	}
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		signal(ends[i], on_end);
	snprintf(pattern, sizeof(pattern), "%s/*", argv[1]);
	err = glob(pattern, 0, NULL, &files);
	if (err && err != GLOB_NOMATCH) {
		fprintf(stderr, "%s: cannot be listed\n", argv[1]);
		return 1;
	}
	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	alarm(LONGEST);
	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	for (size_t i = 0; !err && i < files.gl_pathc; i++) {
		size_t size = 0;
		void *data;

		now = files.gl_pathv[i];
		data = input_read(now, &size);
		if (!data) {
			fprintf(stderr, "%s: %s\n", now, strerror(errno));
			return 1;
		}
		alarm(LONGEST);
		LLVMFuzzerTestOneInput(data, size);
		free(data);
	}
	printf("%zu inputs\n", err ? 1 : files.gl_pathc + 1);
	if (!err)
		globfree(&files);
	return 0;
}
