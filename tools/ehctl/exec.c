// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <stdio.h>
#include <string.h>

#include "eh/topology.h"
#include "launch.h"
#include "wire/view.h"

/* Kept fast: ehctl sends no request, the stub asks the agent once. */
static int run(int argc, char **argv, bool json)
{
	char token[EH_CODE_TEXT + 1];
	char **command = launch_command(argc, argv);
	const char *node = NULL, *view = NULL;
	bool retry = false;

	if (!command)
		return EXIT_USAGE;
	if (json)
		return bad_usage("--json: the output is the command's own");
	for (char **arg = argv + 1; arg < command - 1; arg++) {
		if (!strcmp(*arg, "--retry"))
			retry = true;
		else if (!strcmp(*arg, "--view") && arg + 1 < command - 1)
			view = *++arg;
		else if (!node)
			node = *arg;
		else
			node = "";
	}
	if (view && view_parse(view) == VIEW_UNSET)
		return bad_usage("--view %s: it is shared, home or auto", view);
	if (!node || !*node)
		return bad_usage("one NODE or --auto is needed in front of --");
	if (!strcmp(node, "--auto"))
		return launch_stub("@auto", retry, view, command);
	if (retry)
		return bad_usage(
			"--retry: only with --auto, as the second run is here and not on %s", node);
	if (strspn(node, "0123456789.") != strlen(node) || strlen(node) >= EH_CODE_TEXT)
		return bad_usage("%s: no node code, such as 0.3", node);
	snprintf(token, sizeof(token), "@%s", node);
	return launch_stub(token, false, view, command);
}

const struct command exec_command = {
	.name = "exec",
	.arguments = "NODE|--auto [--retry] [--view VIEW] -- CMD…",
	.help = "run CMD on that node now\n\n"
		"  --auto   the node the hierarchy picks\n"
		"  --retry  with --auto: as in `ehctl run`\n"
		"  --view   whose files CMD sees: as in `ehctl run`\n"
		"Standard input, output and error, environment, folder, limits and signals go along.\n"
		"Exits as CMD did, 1 if the node refused.",
	.run = run,
};
