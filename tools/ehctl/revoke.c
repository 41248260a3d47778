// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "client.h"

static const char *time_text(const json_t *entry, char out[32])
{
	time_t at = json_integer_value(json_object_get(entry, "time"));
	struct tm tm;

	strftime(out, 32, "%Y-%m-%d %H:%M:%S", localtime_r(&at, &tm));
	return out;
}

static int list(bool json)
{
	json_t *reply, *entry, *revoked;
	struct table *t;
	char when[32];
	size_t i;
	int code;

	reply = client_ask_text(json_pack("{s:s}", "command", "revoked"), json, &code);
	if (!reply)
		return code;
	revoked = json_object_get(reply, "revoked");
	if (!json_array_size(revoked)) {
		printf("nothing was revoked\n");
		goto drop_reply;
	}
	t = table_new("WHAT", "NAME", "TIME", NULL);
	json_array_foreach(revoked, i, entry) {
		const char *host = json_string_value(json_object_get(entry, "host"));

		table_row(t, host ? "host" : "certificate", host ?: text_of(entry, "fingerprint"),
			  time_text(entry, when), NULL);
	}
	table_print(t);
drop_reply:
	json_decref(reply);
	return code;
}

static void print_done(const json_t *reply)
{
	const char *host = json_string_value(json_object_get(reply, "host"));

	if (host)
		print_lines("%s was revoked: no member takes a certificate of it that it has now.\n"
			    "To admit it again: `ehctl invite --host %s`\n",
			    host, host);
	else
		printf("That certificate was revoked: no member takes it any more.\n");
	printf("Members that are connected know it now, others when they come back.\n");
}

static int run(int argc, char **argv, bool json)
{
	const char *what = NULL, *host = NULL;
	bool lists = false;
	json_t *reply;
	int code;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--list"))
			lists = true;
		else if (!strcmp(argv[i], "--host") && i + 1 < argc && !host)
			host = argv[++i];
		else if (argv[i][0] == '-' || what)
			return bad_usage("unknown argument: %s", argv[i]);
		else
			what = argv[i];
	}
	if (lists + !!host + !!what != 1)
		return bad_usage(
			"one of a node, a fingerprint, --host NAME and --list is required");
	if (lists)
		return list(json);
	reply = client_ask_text(
		json_pack("{s:s,s:s*,s:s*}", "command", argv[0], "what", what, "host", host), json,
		&code);
	if (reply)
		print_done(reply);
	json_decref(reply);
	return code;
}

const struct command revoke_command = {
	.name = "revoke",
	.arguments = "NODE | FINGERPRINT | --host NAME | --list [--json]",
	.help = "put a host out of the cluster, or revoke one certificate\n\n"
		"On the host that has the authority's key, where `ehctl init` was run. All\n"
		"certificates that the node has until now are refused by all members at once,\n"
		"and its connections end. `ehctl invite --host NAME` lets it in again.\n"
		"  FINGERPRINT  this certificate only, as `ehctl cert list --json` shows it\n"
		"  --host NAME  a host that is not a member (any more)\n"
		"  --list       show what was revoked; on any host",
	.run = run,
};
