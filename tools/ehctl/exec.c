// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <stdio.h>
#include <string.h>

#include "launch.h"
#include "wire/view.h"

/* The agent knows the names; these are limits of a job, and of what the stub says of it. */
#define NODE_MAX 61
#define NODE_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]"

/* Kept fast: ehctl sends no request, the stub asks the agent once. */
static int run(int argc, char **argv, bool json)
{
	char token[NODE_MAX + 2];
	char **command = launch_command(argc, argv);
	const char *node = NULL, *view = NULL;
	bool retry = false, all = false;

	if (!command)
		return EXIT_USAGE;
	if (json)
		return bad_usage("--json is not supported: the output is that of the command");
	for (char **arg = argv + 1; arg < command - 1; arg++) {
		if (!strcmp(*arg, "--retry"))
			retry = true;
		else if (!strcmp(*arg, "--all"))
			all = true;
		else if (!strcmp(*arg, "--view") && arg + 1 < command - 1)
			view = *++arg;
		else if (!node)
			node = *arg;
		else
			node = "";
	}
	if (view && view_parse(view) == VIEW_UNSET)
		return bad_usage("--view %s: must be shared, home or auto", view);
	if (!node || !*node)
		return bad_usage("one NODE or --auto is required before --");
	if (!strcmp(node, "--auto"))
		return launch_stub(all ? "@all" : "@auto", retry, view, command);
	if (all)
		return bad_usage("--all requires --auto: CMD runs on %s in any case", node);
	if (retry)
		return bad_usage(
			"--retry requires --auto: the second run is on this node, not on %s", node);
	if (*node == '-')
		return bad_argument(node);
	if (!strcmp(node, "auto") || !strcmp(node, "all"))
		return bad_usage("%s: a word of its own here: name the node by its code", node);
	if (strspn(node, NODE_LETTERS) != strlen(node) || strlen(node) > NODE_MAX)
		return bad_usage("%s: not the name of a host, nor a node code (such as 0.3)", node);
	snprintf(token, sizeof(token), "@%s", node);
	return launch_stub(token, false, view, command);
}

const struct command exec_command = {
	.name = "exec",
	.arguments = "NODE|--auto [--all] [--retry] [--view VIEW] -- CMD…",
	.help = "run CMD on a node immediately\n\n"
		"NODE is the name of its host, or its code.\n"
		"  --auto       let the hierarchy choose the node: this one unless it is a sender\n"
		"  --all        with --auto: another node, if one can take it\n"
		"  --retry      with --auto: as for `ehctl run`\n"
		"  --view VIEW  whose files CMD sees: as for `ehctl run`\n"
		"CMD has the open files, the environment, working directory and limits of\n"
		"ehctl, and receives its signals. The exit status is that of CMD, 126 or\n"
		"127 if it cannot be executed, or 1 if the node refused it, or if it has\n"
		"something open that another host cannot have, or something confines it\n"
		"here that would not confine it there; with --auto CMD then runs here.",
	.run = run,
};
