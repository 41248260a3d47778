// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>

#include "ehctl.h"
#include "eh/topology.h"

/* Light on purpose: no request of our own, the stub asks the agent once. */
static int run(int argc, char **argv, bool json)
{
	char token[EH_CODE_TEXT + 1];
	char **command = command_of(argc, argv);

	if (!command)
		return EXIT_USAGE;
	if (json)
		return bad_usage("--json: the output is the command's own");
	if (command - argv != 3)
		return bad_usage("one NODE or --auto is needed in front of --");
	if (!strcmp(argv[1], "--auto"))
		return become_stub("@auto", command);
	if (strspn(argv[1], "0123456789.") != strlen(argv[1]) || strlen(argv[1]) >= EH_CODE_TEXT)
		return bad_usage("%s: no node code, such as 0.3", argv[1]);
	snprintf(token, sizeof(token), "@%s", argv[1]);
	return become_stub(token, command);
}

const struct command exec_command = {
	.name = "exec",
	.arguments = "NODE|--auto -- CMD…",
	.help = "run CMD on that node now\n\n"
		"  --auto  the node the hierarchy picks\n"
		"Standard input, output and error, environment, folder, limits and signals go along.\n"
		"Exits as CMD did, 1 if the node refused.",
	.run = run,
};
