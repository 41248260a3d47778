// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A stub for the tests, started by the kernel as { stub, token, path, argv0… }.
 * It does what the token says: "print" its arguments, "exit-N", "fallback" to
 * the program, "sleep" until SIGUSR1 and
 * then execute the program, compute ("busy", or "busier" in a second
 * thread), with "leaves" go to the cgroup that is the program's first argument and
 * execute another program there with two threads, or say with "left" whether an
 * allocation of the kernel that was to fail in this exec (see probe.c) has failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *compute(void *unused)
{
	volatile unsigned int n = 0;

	(void)unused;
	for (;;)
		n++;
	return NULL;
}

static void *rest(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return NULL;
}

static void wake(int number)
{
	(void)number;
}

static int leave(const char *cgroup)
{
	char path[4096];
	pthread_t thread;
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1 || pthread_create(&thread, NULL, rest, NULL))
		return 122;
	execl("/bin/sleep", "sleep", "infinity", NULL);
	return 123;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char left[16] = "";
	bool failed;
	int i;

	if (argc < 4)
		return 124;
	if (!strncmp(argv[1], "exit-", 5))
		return atoi(argv[1] + 5);
	if (!strcmp(argv[1], "fallback")) {
		execv(argv[2], argv + 3);
		perror(argv[2]);
		return 123;
	}
	if (!strcmp(argv[1], "left")) {
		failed = pread(0, left, sizeof(left) - 1, 0) >= 0 && !atoi(left);
		while (pwrite(0, "0", 1, 0) < 0)
			;
		return failed ? 0 : 100;
	}
	if (!strcmp(argv[1], "busy"))
		compute(NULL);
	if (!strcmp(argv[1], "leaves"))
		return argc > 4 ? leave(argv[4]) : 124;
	if (!strcmp(argv[1], "busier") && pthread_create(&thread, NULL, compute, NULL))
		return 122;
	if (!strcmp(argv[1], "busier"))
		rest(NULL);
	if (!strcmp(argv[1], "sleep")) {
		signal(SIGUSR1, wake);
		pause();
		execv(argv[2], argv + 3);
		return 123;
	}
	for (i = 0; i < argc; i++)
		printf("<%s>", argv[i]);
	printf("\n");
	return 0;
}
