// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <stdio.h>
#include <string.h>

#include "client.h"
#include "eh/topology.h"

/* The code in octal, as in the paper, if there is a topology with n=3; else unchanged. */
static const char *code_in(const json_t *topology, const char *text, char out[EH_CODE_TEXT])
{
	struct eh_topology t = { json_integer_value(json_object_get(topology, "n")),
				 json_integer_value(json_object_get(topology, "l")) };
	struct eh_code code;

	if (t.n != 3 || !t.l || t.n * t.l > EH_BITS_MAX || eh_code_parse(&t, text, &code))
		return text;
	return eh_code_format_octal(&t, code, out);
}

/* All groups that the node leads, the lowest first. */
static const char *controls_of(const json_t *node, const json_t *topology, char *out, size_t size)
{
	const json_t *group;
	char code[EH_CODE_TEXT];
	size_t i, used = 0;

	snprintf(out, size, "-");
	json_array_foreach(json_object_get(node, "controller_of"), i, group) {
		if (!json_is_string(group) || used >= size)
			continue;
		used += snprintf(out + used, size - used, "%s%s", used ? "," : "",
				 code_in(topology, json_string_value(group), code));
	}
	return out;
}

static int run(int argc, char **argv, bool json)
{
	bool octal = argc > 1 && !strcmp(argv[1], "--octal");
	char self[EH_CODE_TEXT], controls[128];
	const json_t *topology, *octal_of;
	json_t *reply, *node;
	struct table *t;
	size_t i;
	int code;

	if (argc > 1 + octal)
		return bad_argument(argv[1 + octal]);
	reply = client_ask_text(json_pack("{s:s}", "command", "status"), json, &code);
	if (!reply)
		return code;
	if (json_object_get(reply, "revoked_by"))
		printf("This host was REVOKED, says %s: the cluster refuses it "
		       "(`ehctl doctor`).\n",
		       text_of(reply, "revoked_by"));
	topology = json_object_get(reply, "topology");
	octal_of = octal ? topology : NULL;
	printf("node %s of EH(%s,%s)", code_in(octal_of, text_of(reply, "self"), self),
	       integer_of(topology, "n"), integer_of(topology, "l"));
	if (json_object_get(reply, "self_host"))
		printf(", host %s", text_of(reply, "self_host"));
	printf(", epoch %s\n", integer_of(reply, "epoch"));
	t = table_new("NODE", "HOST", "STATE", "LOAD", "THRESH", "LENGTH", "LOCAL", "GUEST", "AWAY",
		      "CONTROLS", "MODULE", "AGENT", NULL);
	table_column(t, 1, TABLE_CUTS);
	for (int column = 3; column < 9; column++)
		table_column(t, column, TABLE_RIGHT);
	table_column(t, 9, TABLE_CUTS);
	json_array_foreach(json_object_get(reply, "nodes"), i, node) {
		/* Nothing is known of one that is down. */
		const bool up = client_is_up(node);
		const json_t *tasks = up ? json_object_get(node, "tasks") : NULL;
		const json_t *module = up ? json_object_get(node, "module") : NULL;

		table_row(t, code_in(octal_of, text_of(node, "code"), self), text_of(node, "host"),
			  client_state(node), decimal_of(node, "load"),
			  decimal_of(node, "threshold"), decimal_of(node, "threshold_length"),
			  integer_of(tasks, "local"), integer_of(tasks, "guest"),
			  integer_of(tasks, "away"),
			  controls_of(node, octal_of, controls, sizeof(controls)),
			  json_is_true(module)	  ? "yes"
			  : json_is_false(module) ? "no"
						  : "-",
			  text_of(node, "agent"), NULL);
	}
	table_print(t);
	client_print_draining(reply);
	json_decref(reply);
	return EXIT_DONE;
}

const struct command status_command = {
	.name = "status",
	.arguments = "[--octal] [--json]",
	.help = "show this node and the nodes known to it\n\n"
		"  --octal  show codes in octal (037), as the paper writes them, if n is 3\n"
		"Loads, thresholds and threshold lengths are in tasks. A node is a sender if\n"
		"its load is above threshold + length, and a receiver if its load is below\n"
		"threshold - length.",
	.run = run,
};
