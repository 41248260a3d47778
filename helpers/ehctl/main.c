// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ehctl, as users start it. For `ehctl exec` this process is home's end of the job at once: it is static,
 * as to load libraries for it takes longer than all that the stub does. Everything else, and words that
 * are not understood, are for the program of all commands.
 */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "helpers/common/companion.h"
#include "helpers/common/exec_words.h"
#include "helpers/common/program.h"
#include "helpers/ehstub/start.h"

#define MAIN_COMMANDS "ehctl-commands"
#define MAIN_STUB "ehstub"
#define MAIN_PATH 4096

/* The arguments of the stub. NULL: that is not asked for, or not possible. */
static char **main_exec(char **argv)
{
	static struct exec_words words;
	static char program[MAIN_PATH];
	struct exec_trouble trouble;
	char **args;

	if (!argv[0] || !argv[1] || strcmp(argv[1], "exec") ||
	    !exec_words(argv + 1, &words, &trouble) ||
	    program_find(words.command[0], program, sizeof(program)))
		return NULL;
	args = stub_words(NULL, words.retry, words.view, words.token, program, words.command);
	if (args)
		args[0] = (char *)MAIN_STUB;
	return args;
}

int main(int argc, char **argv)
{
	char path[MAIN_PATH];
	char **args;

	/* The stub has executed itself again. */
	if (argc && !strcmp(argv[0], MAIN_STUB))
		return stub_start(argv);
	args = main_exec(argv);
	if (args) {
		prctl(PR_SET_NAME, MAIN_STUB);
		return stub_start(args);
	}
	if (companion(MAIN_COMMANDS, path, sizeof(path)))
		execv(path, argv);
	dprintf(STDERR_FILENO,
		"ehctl: %s is installed neither next to it nor in ../libexec/ehsched\n",
		MAIN_COMMANDS);
	return 1;
}
