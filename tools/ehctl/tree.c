// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>

#include "ehctl.h"

/* Nodes come sorted by code, so a controller is shown before the first below it. */
static void print_group(const json_t *nodes, const char *group)
{
	double load = 0, threshold = 0, length = 0;
	const char *controller = "none";
	const json_t *node;
	size_t i;

	json_array_foreach((json_t *)nodes, i, node) {
		const json_t *code;
		size_t j;

		json_array_foreach(json_object_get(node, "controller_of"), j, code)
			if (!strcmp(json_string_value(code) ? json_string_value(code) : "", group))
				controller = text_of(node, "code");
		if (strcmp(text_of(node, "agent"), "up"))
			continue;
		load += json_number_value(json_object_get(node, "load"));
		threshold += json_number_value(json_object_get(node, "threshold"));
		length += json_number_value(json_object_get(node, "threshold_length"));
	}
	printf("%s  load %.2f of %.2f±%.2f, %s, controller %s\n", group, load, threshold, length,
	       load < threshold - length   ? "receiver"
	       : load > threshold + length ? "sender"
					   : "ok",
	       controller);
}

static int run(int argc, char **argv, bool json)
{
	const json_t *nodes, *node;
	json_t *reply;
	size_t i;
	int code;

	if (argc > 1)
		return bad_usage("%s: not understood", argv[1]);
	reply = client_ask(json_pack("{s:s}", "command", "tree"), &code);
	if (!reply)
		return code;
	if (json) {
		code = json_print(reply);
		goto put;
	}
	nodes = json_object_get(reply, "nodes");
	printf("epoch %s\n", integer_of(reply, "epoch"));
	print_group(nodes, "0");
	json_array_foreach((json_t *)nodes, i, node)
		printf("└─ %s  %s  load %s of %s±%s, %s, agent %s\n", text_of(node, "code"),
		       text_of(node, "host"), decimal_of(node, "load"),
		       decimal_of(node, "threshold"), decimal_of(node, "threshold_length"),
		       text_of(node, "state"), text_of(node, "agent"));
put:
	json_decref(reply);
	return code;
}

const struct command tree_command = {
	.name = "tree",
	.arguments = "[--json]",
	.help = "the hierarchy with loads and states\n\n"
		"A controller's load, threshold and length are the sums over the members that are up.",
	.run = run,
};
