// SPDX-License-Identifier: GPL-2.0-or-later
/* ehctl sim: a program of its own, so that no other command loads the simulator. */
#include "ehctl.h"

#include "launch.h"

static int run(int argc, char **argv, bool json)
{
	return launch_companion("ehsim", argv);
}

const struct command sim_command = {
	.name = "sim",
	.arguments = "[--topology n,l] [--policy POLICY] [OPTION]… [--json]",
	.help = "simulate the hierarchy without a cluster",
	.whole = true,
	.run = run,
};
