// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include "launch.h"

static int run(int argc, char **argv, bool json)
{
	if (argc < 2)
		return bad_usage("init or node?");
	return launch_companion("ehcert", argv);
}

const struct command cert_command = {
	.name = "cert",
	.arguments = "init DIR | node DIR HOST…",
	.help = "make the cluster's authority and the hosts' certificates\n\n"
		"  init DIR         DIR/ca.crt, DIR/ca.key\n"
		"  node DIR HOST…   DIR/HOST.crt, DIR/HOST.key; copy them and ca.crt to HOST",
	.run = run,
};
