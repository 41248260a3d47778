// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include "client.h"

static int run(int argc, char **argv, bool json)
{
	json_t *reply;
	int code;

	if (argc != 2)
		return bad_usage(argc < 2 ? "a node is required" : "one node at a time");
	reply = client_ask(json_pack("{s:s, s:s}", "command", argv[0], "node", argv[1]), &code);
	if (reply && json)
		code = json_print(reply);
	json_decref(reply);
	return code;
}

const struct command drain_command = {
	.name = "drain",
	.arguments = "NODE",
	.help = "stop placing new tasks on a node\n\n"
		"NODE is the name of its host, or its code.\n"
		"Tasks that already run there continue.",
	.run = run,
};

const struct command undrain_command = {
	.name = "undrain",
	.arguments = "NODE",
	.help = "place tasks on a drained node again",
	.run = run,
};
