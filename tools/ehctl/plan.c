// SPDX-License-Identifier: GPL-2.0-or-later
/* ehctl plan: a program of its own, so that no other command loads the planners' libraries. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "ehctl.h"

static int run(int argc, char **argv, bool json)
{
	char program[4096];

	if (!companion("ehplan", program, sizeof(program)))
		return fail(EXIT_REFUSED,
			    "ehplan is not installed beside ehctl or in ../libexec/ehsched");
	argv[0] = program;
	execv(program, argv);
	return fail(EXIT_REFUSED, "%s: %s", program, strerror(errno));
}

const struct command plan_command = {
	.name = "plan",
	.arguments = "assign|gang|divide|dag FILE [OPTION]...",
	.help = "place a parallel job before it starts",
	.whole = true,
	.run = run,
};
