// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A stub for the tests, started by the kernel as { stub, token, path, argv0… }.
 * It does what the token says: "print" its arguments, "exit-N", "fallback" to
 * the program, "sleep" until killed, or say with "left" whether an allocation
 * of the kernel that was to fail in this exec (see probe.c) has failed.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
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
	if (!strcmp(argv[1], "sleep"))
		for (;;)
			pause();
	for (i = 0; i < argc; i++)
		printf("<%s>", argv[i]);
	printf("\n");
	return 0;
}
