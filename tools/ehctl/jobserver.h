/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file jobserver.h
 * `ehctl run --jobserver`: a process that stays behind the command, and keeps as many tokens in its pipe as
 * the agent says that the build may run jobs.
 */
#ifndef EHCTL_JOBSERVER_H
#define EHCTL_JOBSERVER_H

#include "tokens.h"

struct jobserver_options {
	bool wanted;
	const char *of; /**< "cluster", "node"; NULL: as the agent thinks */
	enum tokens_style style;
};

/** Forks. -1: this is the command's process, and its environment names the jobserver; else the
 *  code to exit with: the command has ended, or there was an error, with a message. */
int jobserver_fork(const struct jobserver_options *options, char **command);

#endif
