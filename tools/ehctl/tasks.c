// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <stdio.h>

#include "client.h"

static void print_tasks(const json_t *reply)
{
	struct table *t = table_new("ID", "USER", "HOME", "EXECUTOR", "STATE", "ELAPSED", "CPU",
				    "MEM", "SESSION", "COMMAND", NULL);
	char session[64];
	json_t *task;
	size_t i;

	for (int column = 0; column < 10; column++)
		table_column(t, column,
			     column >= 5 && column <= 7 ? TABLE_RIGHT
			     : column == 8		? TABLE_CUTS | TABLE_SPARE
							: TABLE_CUTS);
	table_column(t, 0, 0);
	table_column(t, 4, 0);
	json_array_foreach(json_object_get(reply, "tasks"), i, task)
		table_row(t, id_of(task), text_of(task, "user"), client_host(task, "home"),
			  client_host(task, "executor"), text_of(task, "state"),
			  duration_of(task, "elapsed"), duration_of(task, "cpu"),
			  size_of(task, "memory"), client_session(task, session),
			  text_of(task, "command"), NULL);
	table_print(t);
}

static int run(int argc, char **argv, bool json)
{
	json_t *reply, *task, *status;
	size_t i;
	int code;

	if (argc > 1)
		return bad_argument(argv[1]);
	reply = client_ask(json_pack("{s:s}", "command", "tasks"), &code);
	if (!reply)
		return code;
	json_array_foreach(json_object_get(reply, "tasks"), i, task)
		client_add_user(task);
	if (json) {
		code = json_print(reply);
	} else {
		print_tasks(reply);
		status = client_ask(json_pack("{s:s}", "command", "status"), &code);
		client_print_draining(status);
		json_decref(status);
	}
	json_decref(reply);
	return code;
}

const struct command tasks_command = {
	.name = "tasks",
	.arguments = "[--json]",
	.help = "list managed tasks, tasks away and guests\n\n"
		"CPU and MEM are what a task has used and uses, \"-\" if this is not known.\n"
		"SESSION is the name given with `ehctl run -n`. `ehctl why ID` explains the\n"
		"placement of one, `ehctl cancel ID` ends it.",
	.run = run,
};
