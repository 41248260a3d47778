// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include "client.h"

static int run(int argc, char **argv, bool json)
{
	int code;

	if (argc > 1)
		return bad_usage("unknown argument: %s", argv[1]);
	json_decref(client_ask_text(json_pack("{s:s}", "command", argv[0]), json, &code));
	return code;
}

const struct command reload_command = {
	.name = "reload",
	.arguments = "[--json]",
	.help = "have the agent read its configuration and certificates again\n\n"
		"If they have errors, or change what only a restart can change, the agent\n"
		"keeps what it has, and this fails with the first error. The log of the agent\n"
		"has all of them.",
	.run = run,
};
