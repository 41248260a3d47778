// SPDX-License-Identifier: GPL-2.0-or-later
/* What ehcert does: it loads libcrypto, which would slow down the start of all other commands. */
#include "ehctl.h"

#include <stdlib.h>
#include <string.h>

#include "launch.h"

static int run(int argc, char **argv, bool json)
{
	char **args = calloc(argc + 3, sizeof(*args));
	int n = 1, code;

	if (argc < 2) {
		free(args);
		return bad_usage("init, node or list is required");
	}
	if (!args)
		return fail(EXIT_REFUSED, "out of memory");
	args[n++] = argv[0];
	if (json)
		args[n++] = (char *)"--json";
	memcpy(args + n, argv + 1, (argc - 1) * sizeof(*args));
	code = launch_companion("ehcert", args);
	free(args);
	return code;
}

const struct command cert_command = {
	.name = "cert",
	.arguments = "init [--cluster NAME] DIR | node DIR HOST… | list [DIR]",
	.help = "create the certificate authority and host certificates\n\n"
		"  init [--cluster NAME] DIR   create the authority: DIR/ca.crt and DIR/ca.key;\n"
		"                              with a name it is for that cluster only\n"
		"  node DIR HOST…              create DIR/HOST.crt and DIR/HOST.key; copy them\n"
		"                              and DIR/ca.crt to HOST\n"
		"  list [DIR]                  certificates of /etc/ehsched, or DIR: names, end,\n"
		"                              and whether the key is there and kept secret\n"
		"EHCERT_DAYS in the environment is the validity in days (3650).",
	.run = run,
};
