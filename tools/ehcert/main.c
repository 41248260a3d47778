// SPDX-License-Identifier: GPL-2.0-or-later
/* ehcert COMMAND [ARGUMENT]...: ehctl starts it, so that nothing else of ehctl loads libcrypto. */
#include "ehcert.h"

#include <string.h>
#include <sys/stat.h>

static const struct {
	const char *name, *arguments;
	int (*run)(int argc, char **argv, bool json);
} commands[] = {
	{ "cert", "init [--cluster NAME] DIR | node DIR HOST… | list [DIR]", cert_run },
	{ "init", "[--dir DIR] [--host NAME] [--address A[:PORT]] [--topology n,l] NAME",
	  init_run },
	{ "join", "[HOST[:PORT]] --token TOKEN [--dir DIR] [--host NAME] [--address A[:PORT]]",
	  join_run },
};

int main(int argc, char **argv)
{
	bool json = false, help = false;

	umask(077);
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		command_name = commands[i].name;
		command_usage = commands[i].arguments;
		argc = command_take_options(argc - 1, argv + 1, &json, &help);
		if (help)
			return bad_usage("`ehctl %s --help` prints the help", command_name);
		return command_finish(commands[i].run(argc, argv + 1, json));
	}
	return fail(EXIT_USAGE, "ehcert is started by ehctl: `ehctl help` lists the commands");
}
