// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include "launch.h"

static int run(int argc, char **argv, bool json)
{
	if (argc < 2)
		return bad_usage("init or node is required");
	return launch_companion("ehcert", argv);
}

const struct command cert_command = {
	.name = "cert",
	.arguments = "init DIR | node DIR HOST…",
	.help = "create the certificate authority and host certificates\n\n"
		"  init DIR         create the authority: DIR/ca.crt and DIR/ca.key\n"
		"  node DIR HOST…   create DIR/HOST.crt and DIR/HOST.key; copy them and\n"
		"                   DIR/ca.crt to HOST",
	.run = run,
};
