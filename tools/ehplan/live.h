/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file live.h  `ehctl dag`, `divide` and `gang`: plans that are carried out on the live cluster. */
#ifndef EHPLAN_LIVE_H
#define EHPLAN_LIVE_H

#include <stdint.h>

#include "tools/common/common.h"

struct live_command {
	const char *name;
	const char *arguments; /**< for the usage line */
	const char *help; /**< its first paragraph */
	const struct option_row *options;
	/** Arguments are read; `rest` is what follows the options, NULL-terminated. The exit code. */
	int (*run)(void *settings, char **rest, bool json);
	void *settings; /**< with the defaults */
};

extern const struct live_command dag_live, divide_live, gang_live;

/** argv[0] is the name of the command. The exit code. */
int live_main(int argc, char **argv);

#endif
