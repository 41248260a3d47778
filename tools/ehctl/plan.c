// SPDX-License-Identifier: GPL-2.0-or-later
/* ehctl plan, dag, divide, gang: a program of its own, so that no other command loads the planners' libraries. */
#include "ehctl.h"

#include <stdlib.h>
#include <string.h>

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

/* As `ehplan --live NAME …`. */
static int run_live(int argc, char **argv, bool json)
{
	char **args = calloc(argc + 3, sizeof(*args));
	int code;

	if (!args)
		return fail(EXIT_REFUSED, "out of memory for %d arguments", argc);
	args[1] = (char *)"--live";
	memcpy(args + 2, argv, argc * sizeof(*args));
	code = launch_companion("ehplan", args);
	free(args);
	return code;
}

const struct command dag_command = {
	.name = "dag",
	.arguments = "FILE|--make|--ninja [OPTION]...",
	.help = "run a workflow on the cluster by a plan",
	.whole = true,
	.run = run_live,
};

const struct command divide_command = {
	.name = "divide",
	.arguments = "--size N --cmd CMD [OPTION]...",
	.help = "divide a load among the hosts of the cluster by a plan",
	.whole = true,
	.run = run_live,
};

const struct command gang_command = {
	.name = "gang",
	.arguments = "--model FILE|--learn [OPTION]... -- CMD...",
	.help = "run a parallel job on the hosts on which it is fastest",
	.whole = true,
	.run = run_live,
};
