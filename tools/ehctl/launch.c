// SPDX-License-Identifier: GPL-2.0-or-later
#include "launch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "helpers/common/companion.h"
#include "helpers/common/exec_words.h"
#include "helpers/common/program.h"
#include "tools/common/common.h"

char *launch_find(const char *name, char *buf, size_t size, int *code)
{
	const int err = program_find(name, buf, size);

	if (!err)
		return buf;
	*code = err == -ENOENT || err == -EINVAL ? 127 : 126;
	if (err == -EINVAL)
		fail(0, "the program name is empty");
	else
		fail(0, "%s: %s", name, err == -ENOENT ? "command not found" : strerror(-err));
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

int launch_program(const char *name, const char *const *before, int argc, char **argv, bool json)
{
	char **args = calloc(argc + 4, sizeof(*args));
	int n = 1, code;

	if (!args)
		return fail(EXIT_REFUSED, "out of memory for %d arguments", argc);
	while (*before)
		args[n++] = (char *)*before++;
	if (json)
		args[n++] = (char *)"--json";
	memcpy(args + n, argv + 1, (argc - 1) * sizeof(*args));
	code = launch_companion(name, args);
	free(args);
	return code;
}

int launch_stub(const char *token, bool retry, const char *view, char **argv)
{
	char program[4096], **args;
	int code;

	if (!launch_find(argv[0], program, sizeof(program), &code))
		return code;
	args = stub_words(NULL, retry, view, token, program, argv);
	if (!args)
		return fail(EXIT_REFUSED, "out of memory for its arguments");
	code = launch_companion("ehstub", args);
	free(args);
	return code;
}

char **launch_command(int argc, char **argv)
{
	char **command = exec_words_command(argv);

	if (!command)
		bad_usage("a command is required after --");
	return command;
}
