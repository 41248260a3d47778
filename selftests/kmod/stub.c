// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A stub for the tests, started by the kernel as { stub, token, path, argv0… }.
 * It does what the token says: "print" its arguments, "exit-N", "fallback" to
 * the program, or "sleep" until killed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
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
	if (!strcmp(argv[1], "sleep"))
		for (;;)
			pause();
	for (i = 0; i < argc; i++)
		printf("<%s>", argv[i]);
	printf("\n");
	return 0;
}
