// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * spawn COUNT CMD…: starts CMD and waits for it COUNT times, one after the
 * other; prints the median and the 95th percentile in microseconds.
 * spawn -p COUNT CMD…: starts it COUNT times at once; prints the microseconds
 * from the first start to the last end.
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* fork(), not vfork() as posix_spawn() does: that would wait for each one's placement. */
static int at_once(int count, char **argv)
{
	double start = now_us();
	int status;

	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (!pid) {
			execvp(argv[0], argv);
			_exit(127);
		}
		if (pid < 0) {
			fprintf(stderr, "spawn: fork: %s\n", strerror(errno));
			return 1;
		}
	}
	while (wait(&status) > 0) {
		if (!status)
			continue;
		fprintf(stderr, "spawn: %s ended with status %#x\n", argv[0], status);
		return 1;
	}
	printf("%.1f\n", now_us() - start);
	return 0;
}

int main(int argc, char **argv)
{
	int count;
	double *us;

	if (argc > 3 && !strcmp(argv[1], "-p"))
		return at_once(atoi(argv[2]), argv + 3);
	count = argc > 2 ? atoi(argv[1]) : 0;
	us = count > 0 ? calloc(count, sizeof(*us)) : NULL;
	if (!us) {
		fprintf(stderr, "usage: spawn [-p] COUNT CMD…\n");
		return 2;
	}
	for (int i = 0; i < count; i++) {
		double start = now_us();
		int status, err;
		pid_t pid;

		err = posix_spawnp(&pid, argv[2], NULL, NULL, argv + 2, environ);
		if (err) {
			fprintf(stderr, "spawn: %s: %s\n", argv[2], strerror(err));
			return 1;
		}
		if (waitpid(pid, &status, 0) < 0 || status) {
			fprintf(stderr, "spawn: %s ended with status %#x\n", argv[2], status);
			return 1;
		}
		us[i] = now_us() - start;
	}
	qsort(us, count, sizeof(*us), by_value);
	printf("%.1f %.1f\n", us[count / 2], us[count * 95 / 100]);
	free(us);
	return 0;
}
