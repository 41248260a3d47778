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
		printf("leaving once %lld guests here and %lld tasks away have ended\n",
		       (long long)guests, (long long)away);
	else
		printf("leaving\n");
}

static int run(int argc, char **argv, bool json)
{
	bool now = argc == 2 && !strcmp(argv[1], "--now");
	json_t *reply;
	int code;

	if (argc > 1 && !now)
		return bad_argument(argv[argc - 1]);
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
	.help = "remove this node from the cluster permanently\n\n"
		"The node accepts no new tasks. When none is left, its code is released and\n"
		"the agent ends.\n"
		"  --now  leave immediately; guests and tasks away are killed",
	.run = run,
};
