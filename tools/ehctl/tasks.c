// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <stdio.h>

#include "client.h"

static int run(int argc, char **argv, bool json)
{
	json_t *reply, *task;
	struct table *t;
	size_t i;
	int code;

	if (argc > 1)
		return bad_usage("unknown argument: %s", argv[1]);
	reply = client_ask_text(json_pack("{s:s}", "command", "tasks"), json, &code);
	if (!reply)
		return code;
	t = table_new("ID", "PID", "HOME", "EXECUTOR", "UID", "STATE", "REASON", "STARTED",
		      "COMMAND", NULL);
	json_array_foreach(json_object_get(reply, "tasks"), i, task)
		table_row(t, text_of(task, "id"), integer_of(task, "pid"),
			  client_host(task, "home"), client_host(task, "executor"),
			  integer_of(task, "uid"), text_of(task, "state"), text_of(task, "reason"),
			  text_of(task, "started"), text_of(task, "command"), NULL);
	table_print(t);
	json_decref(reply);
	return EXIT_DONE;
}

const struct command tasks_command = {
	.name = "tasks",
	.arguments = "[--json]",
	.help = "list managed tasks, tasks away and guests\n\n"
		"`ehctl why ID` explains the placement of one.",
	.run = run,
};
