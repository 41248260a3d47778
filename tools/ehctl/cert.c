// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "ehctl.h"

static int run(int argc, char **argv, bool json)
{
	char script[4096];

	if (argc < 2)
		return bad_usage("init or node?");
	if (!companion("ehcert", script, sizeof(script)))
		return fail(EXIT_REFUSED,
			    "ehcert is not installed beside ehctl or in ../libexec/ehsched");
	argv[0] = script;
	execv(script, argv);
	return fail(EXIT_REFUSED, "%s: %s", script, strerror(errno));
}

const struct command cert_command = {
	.name = "cert",
	.arguments = "init DIR | node DIR HOST…",
	.help = "make the cluster's authority and the hosts' certificates\n\n"
		"  init DIR         DIR/ca.crt, DIR/ca.key\n"
		"  node DIR HOST…   DIR/HOST.crt, DIR/HOST.key; copy them and ca.crt to HOST",
	.run = run,
};
