/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file load_options.h  What --load and the options for it say. */
#ifndef EHSIM_LOAD_OPTIONS_H
#define EHSIM_LOAD_OPTIONS_H

#include "sim/load.h"

struct load_options {
	struct eh_load_options load; /**< load 0: not given; transfer and hold below 0: not given */
	const char *service; /**< name of a distribution or a file; NULL: not given */
	uint64_t cpus, hot; /**< 0: not given */
	double *speeds, *times; /**< arrays of `load`, to be freed */
};

/** A list of speeds with commas. 0 or -EINVAL. */
int load_options_speeds(struct load_options *o, const char *text);
/** Fills in what was not given, and reads the file of service times. 0, or an exit code after a
 *  message. */
int load_options_finish(struct load_options *o);
void load_options_free(struct load_options *o);

#endif
