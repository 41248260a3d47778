// SPDX-License-Identifier: GPL-2.0-or-later
/* ehctl sim: a program of its own, so that ehctl stays small. */
#include "ehctl.h"

static int run(int argc, char **argv, bool json)
{
	return become_companion("ehsim", argv);
}

const struct command sim_command = {
	.name = "sim",
	.arguments = "[--topology n,l] [--policy POLICY] [OPTION]… [--json]",
	.help = "what the hierarchy would do, without a cluster",
	.whole = true,
	.run = run,
};
