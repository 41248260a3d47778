// SPDX-License-Identifier: GPL-2.0-or-later
/* A program that could not be executed: what a shell says of it, and the status that it ends with. */
#include "stub.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define FAILURE_LINE 256 /* bytes of a #! line that the kernel looks at */
#define FAILURE_PARTS 8

/* The interpreter that the #! line names. NULL: there is no such line. */
static const char *failure_interpreter(const char *path, char line[FAILURE_LINE])
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char *from = line + 2;
	ssize_t n;

	n = fd < 0 ? -1 : read(fd, line, FAILURE_LINE - 1);
	if (fd >= 0)
		close(fd);
	if (n < 2 || line[0] != '#' || line[1] != '!')
		return NULL;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	from += strspn(from, " \t");
	from[strcspn(from, " \t")] = '\0';
	return *from ? from : NULL;
}

int failure_tell(const struct stub *s, const char *node, int error)
{
	const bool found = !access(s->path, X_OK);
	const char *parts[FAILURE_PARTS], *why = strerror(error), *interpreter = NULL;
	char line[FAILURE_LINE];
	int n = 0;

	parts[n++] = stub_caller(s);
	if (node) {
		parts[n++] = node;
		parts[n++] = ": ";
	}
	parts[n++] = s->path;
	parts[n++] = ": ";
	/* The error is not one of the file itself, if that can be seen here. */
	if (found && (error == ENOENT || error == EACCES || error == ELOOP || error == ENOTDIR))
		interpreter = failure_interpreter(s->path, line);
	if (interpreter) {
		parts[n++] = interpreter;
		parts[n++] = ": bad interpreter: ";
	} else if (found && error == ENOENT) {
		why = "cannot execute: required file not found";
	}
	parts[n++] = why;
	stub_say(parts, n);
	return error == ENOENT || error == ENOTDIR ? 127 : 126;
}
