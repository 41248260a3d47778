// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <stdio.h>
#include <string.h>

#include "client.h"

static void print_leave(const json_t *reply)
{
	json_int_t guests = json_integer_value(json_object_get(reply, "guests"));
	json_int_t away = json_integer_value(json_object_get(reply, "away"));

	if (guests + away)
		printf("leaves when %lld guests and %lld tasks of this node that are away have ended\n",
		       (long long)guests, (long long)away);
	else
		printf("leaves\n");
}

static int run(int argc, char **argv, bool json)
{
	bool now = argc == 2 && !strcmp(argv[1], "--now");
	json_t *reply;
	int code;

	if (argc > 1 && !now)
		return bad_usage("only --now is taken");
	reply = client_ask_text(json_pack("{s:s, s:b}", "command", argv[0], "now", (int)now), json,
				&code);
	if (reply)
		print_leave(reply);
	json_decref(reply);
	return code;
}

const struct command leave_command = {
	.name = "leave",
	.arguments = "[--now]",
	.help = "take this node out of the cluster for good\n\n"
		"It takes no new tasks; when none is left its code is free for others and the agent\n"
		"ends. --now: at once; guests and tasks that are away are killed.",
	.run = run,
};
