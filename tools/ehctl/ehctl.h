/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file ehctl.h  Commands of ehctl: a file each, found by the table in main.c. */
#ifndef EHCTL_H
#define EHCTL_H

#include <stdbool.h>

#include "tools/common/common.h"

struct command {
	const char *name;
	const char *arguments; /**< for the usage line, after the name */
	const char *help; /**< first line: what it does; then options, notes */
	/** Another program runs it, with these arguments before the command's; NULL: run() does. */
	const char *program, *before[3];
	const char *missing; /**< what to say if there are no arguments; NULL: it needs none */
	bool whole; /**< that program takes --json and --help */
	/** argv[0] is the name; --json and --help are no longer in argv, unless after "--".
	 *  Returns the exit code. */
	int (*run)(int argc, char **argv, bool json);
};

extern const struct command status_command, tree_command, tasks_command, why_command, run_command,
	exec_command, set_command, get_command, drain_command, undrain_command, owner_command,
	watch_command, doctor_command, cert_command, sim_command, leave_command, plan_command,
	cancel_command, reload_command, init_command, invite_command, join_command, revoke_command,
	top_command, dag_command, divide_command, gang_command, history_command, metrics_command;

#endif
