/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file load_run.h
 * A run with service times. Pure: no input, output or clock. The same options and
 * seed give the same result on every machine.
 */
#ifndef EH_LOAD_RUN_H
#define EH_LOAD_RUN_H

#include "load.h"

/** Called after every 65536 arrivals; NULL: not. */
typedef void (*eh_load_watch_fn)(void *ctx, uint64_t arrivals);

/** A whole run. 0; -EINVAL: an option is out of range; -ENOMEM; -EDOM: hot nodes are too few, so
 *  that policy's queues grow without end. */
int eh_load_run(const struct eh_load_options *options, eh_load_watch_fn watch, void *ctx,
		struct eh_load_result *result);

/** "state", …, "credit". */
const char *eh_load_message_name(enum eh_load_message kind);

#endif
