// SPDX-License-Identifier: GPL-2.0-or-later
#include "launch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helpers/common/companion.h"
#include "tools/common/common.h"

static bool is_program(const char *path)
{
	struct stat st;

	return !access(path, X_OK) && !stat(path, &st) && S_ISREG(st.st_mode);
}

char *launch_find(const char *name, char *buf, size_t size, int *code)
{
	const char *path = getenv("PATH"), *end;
	int err = ENOENT;

	*code = 127;
	if (!*name) {
		fail(0, "the program name is empty");
		return NULL;
	}
	if (strchr(name, '/')) {
		if (strlen(name) >= size) {
			fail(0, "%s: %s", name, strerror(ENAMETOOLONG));
			return NULL;
		}
		strcpy(buf, name);
		if (is_program(buf))
			return buf;
		err = access(buf, F_OK) ? errno : EACCES;
		goto not_found;
	}
	if (!path)
		path = "/usr/local/bin:/usr/bin:/bin";
	for (;; path = end + 1) {
		size_t length;

		end = strchrnul(path, ':');
		length = end - path;
		if (length + strlen(name) + 3 <= size) {
			/* an empty entry is the current directory */
			memcpy(buf, length ? path : ".", length ? length : 1);
			length = length ? length : 1;
			buf[length] = '/';
			strcpy(buf + length + 1, name);
			if (is_program(buf))
				return buf;
			if (!access(buf, F_OK))
				err = EACCES;
		}
		if (!*end)
			break;
	}
not_found:
	*code = err == ENOENT ? 127 : 126;
	fail(0, "%s: %s", name, err == ENOENT ? "command not found" : strerror(err));
	return NULL;
}

int launch_companion(const char *name, char **argv)
{
	char program[4096];

	if (!companion(name, program, sizeof(program)))
		return fail(EXIT_REFUSED,
			    "%s is installed neither next to ehctl nor in ../libexec/ehsched",
			    name);
	argv[0] = program;
	execv(program, argv);
	return fail(EXIT_REFUSED, "%s: %s", program, strerror(errno));
}

int launch_stub(const char *token, bool retry, const char *view, char **argv)
{
	char program[4096], **args;
	size_t count = 0, n = 1;
	int code;

	if (!launch_find(argv[0], program, sizeof(program), &code))
		return code;
	while (argv[count])
		count++;
	args = calloc(count + 7, sizeof(*args));
	if (!args)
		return fail(EXIT_REFUSED, "out of memory for %zu arguments", count);
	if (retry)
		args[n++] = (char *)"--retry";
	if (view) {
		args[n++] = (char *)"--view";
		args[n++] = (char *)view;
	}
	args[n++] = (char *)token;
	args[n++] = program;
	memcpy(args + n, argv, count * sizeof(*args));
	code = launch_companion("ehstub", args);
	free(args);
	return code;
}

char **launch_command(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--"))
			continue;
		if (argv[i + 1])
			return argv + i + 1;
		break;
	}
	bad_usage("a command is required after --");
	return NULL;
}
