// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <stdio.h>
#include <string.h>

#include "client.h"

struct arguments {
	bool now;
};

static const struct option_row table[] = {
	{ "now", OPTION_FLAG, offsetof(struct arguments, now),
	  .help = "end the guests that are here at once" },
	{ 0 },
};

/* "n1 (auto): its owner uses it, no new guests; 2 are left" */
static void print_owner(const json_t *reply)
{
	const bool active = json_is_true(json_object_get(reply, "active"));
	const json_int_t guests = json_integer_value(json_object_get(reply, "guests"));

	printf("%s (%s): %s", text_of(reply, "host"), text_of(reply, "mode"),
	       active ? "its owner uses it, no new guests" : "guests may come");
	if (guests)
		printf("; %" JSON_INTEGER_FORMAT " %s %s", guests, guests == 1 ? "is" : "are",
		       active ? "left" : "here");
	if (json_is_integer(json_object_get(reply, "idle")))
		printf("; owners have typed nothing for %s", duration_of(reply, "idle"));
	printf("\n");
}

static int run(int argc, char **argv, bool json)
{
	struct arguments a = { 0 };
	int code = options_parse(argc, argv, table, &a);
	const char *mode;
	json_t *reply;

	if (code)
		return code;
	mode = argv[optind];
	if (argc - optind > 1)
		return bad_usage("one word at most: on, off or auto");
	if (mode && strcmp(mode, "on") && strcmp(mode, "off") && strcmp(mode, "auto"))
		return bad_usage("the word must be on, off or auto");
	if (a.now && (!mode || strcmp(mode, "on")))
		return bad_usage("--now goes with on");
	reply = client_ask_text(
		json_pack("{s:s, s:s*, s:b}", "command", "owner", "mode", mode, "now", (int)a.now),
		json, &code);
	if (reply)
		print_owner(reply);
	json_decref(reply);
	return code;
}

const struct command owner_command = {
	.name = "owner",
	.arguments = "[on [--now] | off | auto]",
	.help = "say that you need this node for yourself\n\n"
		"  on     no new tasks of other nodes come here; those that run continue\n"
		"  off    they may come, whatever you do here\n"
		"  auto   as you use a terminal here (`owner-idle` of the configuration)\n"
		"  --now  with on: end the guests that are here; home runs those of\n"
		"         `ehctl run --retry` again, others are lost\n"
		"Without a word, show what is set. Root and the users in `owners` of the agent's\n"
		"configuration may set it. It lasts until the agent ends.",
	.run = run,
};
