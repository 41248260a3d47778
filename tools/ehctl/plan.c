// SPDX-License-Identifier: GPL-2.0-or-later
/* ehctl plan and sim: programs of their own, so that no other command loads their libraries. */
#include "ehctl.h"

static int run_plan(int argc, char **argv, bool json)
{
	return become_companion("ehplan", argv);
}

const struct command plan_command = {
	.name = "plan",
	.arguments = "assign|gang|divide|dag FILE [OPTION]...",
	.help = "place a parallel job before it starts",
	.whole = true,
	.run = run_plan,
};

static int run_sim(int argc, char **argv, bool json)
{
	return become_companion("ehsim", argv);
}

const struct command sim_command = {
	.name = "sim",
	.arguments = "[--topology n,l] [--policy POLICY] [OPTION]… [--json]",
	.help = "what the hierarchy would do, without a cluster",
	.whole = true,
	.run = run_sim,
};
