// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <stdio.h>

#include "client.h"

static int run(int argc, char **argv, bool json)
{
	json_t *reply, *step;
	size_t i;
	int code;

	if (argc != 2)
		return bad_usage(argc < 2 ? "an ID is required" : "one ID at a time");
	reply = client_ask_text(json_pack("{s:s, s:s}", "command", "why", "id", argv[1]), json,
				&code);
	if (!reply)
		return code;
	printf("%s (%s)\n  home %s, executor %s\n  %s: %s\n", text_of(reply, "id"),
	       text_of(reply, "command"), client_host(reply, "home"),
	       client_host(reply, "executor"), text_of(reply, "reason"), text_of(reply, "text"));
	json_array_foreach(json_object_get(reply, "steps"), i, step)
		printf("  %8s ms  %s\n", decimal_of(step, "at_ms"), text_of(step, "what"));
	/* Only the history says so. */
	if (json_is_string(json_object_get(reply, "ended")))
		printf("  from %s to %s\n", text_of(reply, "started"), text_of(reply, "ended"));
	json_decref(reply);
	return EXIT_DONE;
}

const struct command why_command = {
	.name = "why",
	.arguments = "ID [--json]",
	.help = "explain why a task runs where it runs\n\n"
		"ID is an ID that `ehctl tasks` or `ehctl history` lists, or the process ID\n"
		"of one of the last 1024 placements.",
	.run = run,
};
