// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <stdbool.h>

#include "client.h"
#include "whole.h"

static void print_tasks(const json_t *reply)
{
	struct table *t = table_new("ID", "USER", "HOME", "EXECUTOR", "STATE", "ELAPSED", "CPU",
				    "MEM", "SESSION", "COMMAND", NULL);
	char session[SESSION_NAME];
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

static const struct option_row table[] = {
	{ "all", OPTION_FLAG, .help = "those of all nodes" },
	{ 0 },
};

static int run(int argc, char **argv, bool json)
{
	json_t *reply, *task, *status;
	bool all = false;
	size_t i;
	int code = options_parse(argc, argv, table, &all);

	if (!code && optind < argc)
		code = bad_argument(argv[optind]);
	if (code)
		return code;
	reply = client_ask(json_pack("{s:s,s:b}", "command", "tasks", "all", (int)all), &code);
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
	if (all && !json)
		whole_print_missing(reply, true);
	json_decref(reply);
	return code;
}

const struct command tasks_command = {
	.name = "tasks",
	.arguments = "[--all] [--json]",
	.help = "list managed tasks, tasks away and guests\n\n"
		"  --all   those of all nodes; else those that this node knows of\n"
		"CPU and MEM are what a task has used and uses, \"-\" if this is not known.\n"
		"SESSION is the name given with `ehctl run -n`. `ehctl why ID` explains the\n"
		"placement of one, `ehctl cancel ID` ends it. Users see their own tasks, root and\n"
		"members of `admin-group` those of all.",
	.run = run,
};
