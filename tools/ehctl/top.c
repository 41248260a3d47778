// SPDX-License-Identifier: GPL-2.0-or-later
/* ehctl top: a program of its own, so that no other command loads the terminal's library. */
#include "ehctl.h"

#include "launch.h"

static int run(int argc, char **argv, bool json)
{
	return launch_companion("ehtop", argv);
}

const struct command top_command = {
	.name = "top",
	.arguments = "[--once] [--delay SECONDS]",
	.help = "show nodes and tasks, and how they change",
	.whole = true,
	.run = run,
};
