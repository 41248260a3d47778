// SPDX-License-Identifier: GPL-2.0-or-later
/* spin N SECONDS: how far N tasks count together in this time (all in all, a second): what others take they do not have. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int n = argc == 3 ? atoi(argv[1]) : 0, seconds = argc == 3 ? atoi(argv[2]) : 0, i;
	/* a page each: on a machine with several processors they do not share a line */
	size_t stride = 4096 / sizeof(uint64_t);
	volatile uint64_t *counts;
	uint64_t before = 0, after = 0;

	if (n < 1 || seconds < 1) {
		fprintf(stderr, "usage: spin N SECONDS\n");
		return 2;
	}
	counts = mmap(NULL, n * 4096ul, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED) {
		fprintf(stderr, "spin: %s\n", strerror(errno));
		return 1;
	}
	for (i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			fprintf(stderr, "spin: %s\n", strerror(errno));
			return 1;
		}
		if (pid)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			counts[i * stride]++;
	}
	sleep(2);
	for (i = 0; i < n; i++)
		before += counts[i * stride];
	sleep(seconds);
	for (i = 0; i < n; i++)
		after += counts[i * stride];
	printf("%.1f\n", (double)(after - before) / seconds);
	return 0;
}
