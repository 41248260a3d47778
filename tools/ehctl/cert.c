// SPDX-License-Identifier: GPL-2.0-or-later
/* What ehcert does: it loads libcrypto, which would slow down the start of all other commands. */
#include "ehctl.h"

#include <stdlib.h>
#include <string.h>

#include "launch.h"

static int make(int argc, char **argv, bool json)
{
	char **args = calloc(argc + 3, sizeof(*args));
	int n = 1, code;

	if (!args)
		return fail(EXIT_REFUSED, "out of memory");
	args[n++] = argv[0];
	if (json)
		args[n++] = (char *)"--json";
	memcpy(args + n, argv + 1, (argc - 1) * sizeof(*args));
	code = launch_companion("ehcert", args);
	free(args);
	return code;
}

static int run(int argc, char **argv, bool json)
{
	if (argc < 2)
		return bad_usage("init, node or list is required");
	return make(argc, argv, json);
}

static int run_init(int argc, char **argv, bool json)
{
	if (argc < 2)
		return bad_usage("a name for the cluster is required");
	return make(argc, argv, json);
}

const struct command init_command = {
	.name = "init",
	.arguments = "[--dir DIR] [--host NAME] [--address A[:PORT]] [--topology n,l] NAME",
	.help = "make this host the first of a new cluster\n\n"
		"Creates the cluster's authority, the certificate of this host and agent.conf,\n"
		"and says what to do next. Nothing that is there is overwritten.\n"
		"  --dir DIR         where (/etc/ehsched)\n"
		"  --host NAME       name of this host (that of hostname(1))\n"
		"  --address A[:P]   where others reach it (its only address, port 7411)\n"
		"  --topology n,l    room for 2^(n*l) hosts in groups of 2^n (4,2: 256 hosts);\n"
		"                    it cannot change while agents run, and room costs nothing",
	.run = run_init,
};

static int run_join(int argc, char **argv, bool json)
{
	if (argc < 2)
		return bad_usage("--token is required: `ehctl invite` on a member makes one");
	return make(argc, argv, json);
}

const struct command join_command = {
	.name = "join",
	.arguments = "[HOST[:PORT]] --token TOKEN [--dir DIR] [--host NAME] [--address A[:PORT]]",
	.help = "make this host a member, by a token of `ehctl invite`\n\n"
		"Makes a key, which never leaves this host, gets a certificate for it, writes\n"
		"both and agent.conf, and says what to do next. Overwrites nothing. The inviting\n"
		"host is authenticated before the token is sent.\n"
		"  HOST[:PORT]       name or address of that host, if not the one in the token\n"
		"  --token TOKEN     - reads it from standard input: others cannot see it in ps(1)\n"
		"  --dir DIR         where to write (/etc/ehsched)\n"
		"  --host NAME       name of this host (that of hostname(1))\n"
		"  --address A[:P]   where others reach it (that which reaches HOST, port 7411)",
	.run = run_join,
};

const struct command cert_command = {
	.name = "cert",
	.arguments = "init [--cluster NAME] DIR | node DIR HOST… | list [DIR]",
	.help = "create the certificate authority and host certificates\n\n"
		"  init [--cluster NAME] DIR   create the authority: DIR/ca.crt and DIR/ca.key;\n"
		"                              with a name it is for that cluster only\n"
		"  node DIR HOST…              create DIR/HOST.crt and DIR/HOST.key; copy them\n"
		"                              and DIR/ca.crt to HOST\n"
		"  list [DIR]                  certificates of /etc/ehsched, or DIR: names, end,\n"
		"                              and whether the key is there and kept secret\n"
		"EHCERT_DAYS in the environment is the validity in days (3650).",
	.run = run,
};
