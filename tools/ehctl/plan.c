// SPDX-License-Identifier: GPL-2.0-or-later
/* ehctl plan: a program of its own, so that no other command loads the planners' libraries. */
#include "ehctl.h"

#include "launch.h"

static int run(int argc, char **argv, bool json)
{
	return launch_companion("ehplan", argv);
}

const struct command plan_command = {
	.name = "plan",
	.arguments = "assign|gang|divide|dag FILE [OPTION]...",
	.help = "plan the placement of a parallel job before it starts",
	.whole = true,
	.run = run,
};
