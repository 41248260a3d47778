/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file launch_options.h
 * The options of ehlaunch: those rules of the configuration that it enforces.
 */
#ifndef AGENT_BASE_LAUNCH_OPTIONS_H
#define AGENT_BASE_LAUNCH_OPTIONS_H

#include <stdint.h>
#include "base/config_data.h"

/**
 * Its arguments, from argv[0] to NULL. `agent`: the program that is to make them again from the same
 * file when ehlaunch is told that they have changed; NULL: that is done by another ehlaunch. To be
 * freed, as one block; strings are the configuration's. NULL: out of memory.
 */
char **launch_options(const struct config *config, const char *agent);
/** Of the options of this configuration, as ehlaunch says its own: see launch_digest(). 0: out of memory. */
uint64_t launch_options_digest(const struct config *config);
/** What ehlaunch lets the module allow at most, in ms; time-limit is the administrator's, too. */
static inline unsigned int launch_time_limit(const struct config *c)
{
	return c->time_limit > c->time_limit_max ? c->time_limit : c->time_limit_max;
}

#endif
