// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "ehctl.h"

static int run(int argc, char **argv, bool json)
{
	json_t *reply, *node, *topology;
	struct table *t;
	size_t i;
	int code;

	if (argc > 1)
		return bad_usage("%s: not understood", argv[1]);
	reply = client_ask(json_pack("{s:s}", "command", "status"), &code);
	if (!reply)
		return code;
	if (json) {
		code = json_print(reply);
		json_decref(reply);
		return code;
	}
	topology = json_object_get(reply, "topology");
	printf("node %s of EH(%s,%s), epoch %s\n", text_of(reply, "self"),
	       integer_of(topology, "n"), integer_of(topology, "l"), integer_of(reply, "epoch"));
	t = table_new("NODE", "HOST", "STATE", "LOAD", "THRESHOLD", "LENGTH", "LOCAL", "GUEST",
		      "AWAY", "CONTROLS", "MODULE", "AGENT", NULL);
	json_array_foreach(json_object_get(reply, "nodes"), i, node) {
		const json_t *tasks = json_object_get(node, "tasks");
		const json_t *controls = json_array_get(json_object_get(node, "controller_of"), 0);
		const json_t *module = json_object_get(node, "module");

		table_row(t, text_of(node, "code"), text_of(node, "host"), text_of(node, "state"),
			  decimal_of(node, "load"), decimal_of(node, "threshold"),
			  decimal_of(node, "threshold_length"), integer_of(tasks, "local"),
			  integer_of(tasks, "guest"), integer_of(tasks, "away"),
			  controls ? json_string_value(controls) : "-",
			  json_is_true(module)	  ? "yes"
			  : json_is_false(module) ? "no"
						  : "-",
			  text_of(node, "agent"), NULL);
	}
	table_print(t);
	json_decref(reply);
	return EXIT_DONE;
}

const struct command status_command = {
	.name = "status",
	.arguments = "[--json]",
	.help = "this node and the nodes it knows of\n\n"
		"Loads, thresholds and threshold lengths are in tasks. A node is a sender when its load is\n"
		"above threshold + length, a receiver when it is below threshold - length.",
	.run = run,
};
