// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stands in the place of a program that is tested: becomes the program itself, .here/NAME beside it,
 * or, while there is a stub in the directory FRONT_AWAY, the stub that sends it away.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STUB FRONT_AWAY "/ehstub"
#define PATH 4096

extern char **environ;

int main(int argc, char **argv)
{
	char self[PATH], program[PATH + 8], **args;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *name;

	if (n <= 0)
		return 126;
	self[n] = '\0';
	name = strrchr(self, '/');
	snprintf(program, sizeof(program), "%.*s/.here%s", (int)(name - self), self, name);
	if (access(STUB, X_OK)) {
		execve(program, argv, environ);
	} else {
		args = malloc((argc + 4) * sizeof(*args));
		if (!args)
			return 126;
		args[0] = (char *)STUB;
		args[1] = (char *)"@all";
		args[2] = program;
		memcpy(args + 3, argv, (argc + 1) * sizeof(*args));
		execve(STUB, args, environ);
	}
	fprintf(stderr, "%s: %s\n", program, strerror(errno));
	return errno == ENOENT ? 127 : 126;
}
