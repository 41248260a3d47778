// SPDX-License-Identifier: GPL-2.0-or-later
/* ehcert COMMAND [ARGUMENT]...: ehctl starts it, so that nothing else of ehctl loads libcrypto. */
#include "ehcert.h"

#include <string.h>
#include <sys/stat.h>

#include "tools/common/cert_usage.h"

static const struct {
	const char *name, *arguments;
	int (*run)(int argc, char **argv, bool json);
} commands[] = {
	{ "cert", CERT_USAGE, cert_run },
	{ "init", CERT_USAGE_INIT, init_run },
	{ "join", CERT_USAGE_JOIN, join_run },
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
