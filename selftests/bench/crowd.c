// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * crowd N: N children that exec this program and sleep. Says "ready" when all do, and ends with
 * its standard input, they with it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char byte, *args[] = { argv[0], "0", NULL };
	int n, i, ready[2];
	pid_t *children;

	if (argc != 2) {
		fprintf(stderr, "usage: crowd N\n");
		return 2;
	}
	n = atoi(argv[1]);
	/* a child of the crowd: its parent sees the end of the pipe's writers when all have come so far */
	if (!n && getenv("CROWD_CHILD")) {
		close(1);
		for (;;)
			pause();
	}
	setenv("CROWD_CHILD", "1", 1);
	children = calloc(n + 1, sizeof(*children));
	if (!children || pipe(ready)) {
		fprintf(stderr, "crowd: %s\n", strerror(errno));
		return 1;
	}
	for (i = 0; i < n; i++) {
		children[i] = fork();
		if (!children[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			dup2(ready[1], 1);
			close(ready[0]);
			close(ready[1]);
			execv(args[0], args);
			fprintf(stderr, "crowd: %s: %s\n", args[0], strerror(errno));
			_exit(1);
		}
		if (children[i] < 0) {
			fprintf(stderr, "crowd: child %d: %s\n", i, strerror(errno));
			return 1;
		}
	}
	close(ready[1]);
	while (read(ready[0], &byte, 1) > 0)
		;
	printf("ready\n");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	for (i = 0; i < n; i++)
		kill(children[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	return 0;
}
