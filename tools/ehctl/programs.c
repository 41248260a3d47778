// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Commands that programs of their own run: no other command loads libcrypto, the planners' libraries,
 * the simulator or the library for terminals, and ehmetrics gives up all that it does not need.
 */
#include "ehctl.h"

#include "tools/common/cert_usage.h"

const struct command init_command = {
	.name = "init",
	.arguments = CERT_USAGE_INIT,
	.help = "make this host the first of a new cluster\n\n"
		"Creates the cluster's authority, the certificate of this host and agent.conf,\n"
		"and says what to do next. Nothing that is there is overwritten.\n"
		"  --dir DIR         where (/etc/ehsched)\n"
		"  --host NAME       name of this host (that of hostname(1))\n"
		"  --address A[:P]   where others reach it (its only address, port 7411)\n"
		"  --topology n,l    room for 2^(n*l) hosts in groups of 2^n (4,2: 256 hosts);\n"
		"                    it cannot change while agents run, and room costs nothing",
	.program = "ehcert",
	.before = { "init" },
	.missing = "a name for the cluster is required",
};

const struct command join_command = {
	.name = "join",
	.arguments = CERT_USAGE_JOIN,
	.help = "make this host a member, by a token of `ehctl invite`\n\n"
		"Makes a key, which never leaves this host, gets a certificate for it, writes\n"
		"both and agent.conf, and says what to do next. Overwrites nothing. The inviting\n"
		"host is authenticated before the token is sent.\n"
		"  HOST[:PORT]       name or address of that host, if not the one in the token\n"
		"  --token TOKEN     - reads it from standard input: others cannot see it in ps(1)\n"
		"  --dir DIR         where to write (/etc/ehsched)\n"
		"  --host NAME       name of this host (that of hostname(1))\n"
		"  --address A[:P]   where others reach it (that which reaches HOST, port 7411)",
	.program = "ehcert",
	.before = { "join" },
	.missing = "--token is required: `ehctl invite` on a member makes one",
};

const struct command cert_command = {
	.name = "cert",
	.arguments = CERT_USAGE,
	.help = "create the certificate authority and host certificates\n\n"
		"  init [--cluster NAME] DIR   create the authority: DIR/ca.crt and DIR/ca.key;\n"
		"                              with a name it is for that cluster only\n"
		"  node DIR HOST…              create DIR/HOST.crt and DIR/HOST.key; copy them\n"
		"                              and DIR/ca.crt to HOST\n"
		"  list [DIR]                  certificates of /etc/ehsched, or DIR: names, end,\n"
		"                              and whether the key is there and kept secret\n"
		"EHCERT_DAYS in the environment is the validity in days (3650).",
	.program = "ehcert",
	.before = { "cert" },
	.missing = "init, node or list is required",
};

const struct command sim_command = {
	.name = "sim",
	.arguments = "[--topology n,l] [--policy POLICY] [OPTION]… [--json]",
	.help = "simulate the hierarchy without a cluster",
	.whole = true,
	.program = "ehsim",
};

const struct command top_command = {
	.name = "top",
	.arguments = "[--once] [--delay SECONDS]",
	.help = "show nodes and tasks, and how they change",
	.whole = true,
	.program = "ehtop",
};

const struct command metrics_command = {
	.name = "metrics",
	.arguments = "[--listen ADDRESS:PORT] [--own] [--once] [--json]",
	.help = "serve a page and metrics for Prometheus over HTTP",
	.whole = true,
	.program = "ehmetrics",
};

const struct command plan_command = {
	.name = "plan",
	.arguments = "assign|gang|divide|dag FILE [OPTION]...",
	.help = "plan the placement of a parallel job before it starts",
	.whole = true,
	.program = "ehplan",
};

const struct command dag_command = {
	.name = "dag",
	.arguments = "FILE|--make|--ninja [OPTION]...",
	.help = "run a workflow on the cluster by a plan",
	.whole = true,
	.program = "ehplan",
	.before = { "--live", "dag" },
};

const struct command divide_command = {
	.name = "divide",
	.arguments = "--size N --cmd CMD [OPTION]...",
	.help = "divide a load among the hosts of the cluster by a plan",
	.whole = true,
	.program = "ehplan",
	.before = { "--live", "divide" },
};

const struct command gang_command = {
	.name = "gang",
	.arguments = "--model FILE|--learn [OPTION]... -- CMD...",
	.help = "run a parallel job on the hosts on which it is fastest",
	.whole = true,
	.program = "ehplan",
	.before = { "--live", "gang" },
};
