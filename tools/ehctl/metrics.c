// SPDX-License-Identifier: GPL-2.0-or-later
/* ehctl metrics: a program of its own, which gives up all that it does not need. */
#include "ehctl.h"

#include "launch.h"

static int run(int argc, char **argv, bool json)
{
	return launch_companion("ehmetrics", argv);
}

const struct command metrics_command = {
	.name = "metrics",
	.arguments = "[--listen ADDRESS:PORT] [--own] [--once] [--json]",
	.help = "serve a page and metrics for Prometheus over HTTP",
	.whole = true,
	.run = run,
};
