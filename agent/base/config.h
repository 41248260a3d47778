/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file config.h
 * The agent's configuration (docs/configuration.md). It does not change after it was read,
 * except by config_adopt(); a reload makes a new one.
 */
#ifndef AGENT_BASE_CONFIG_H
#define AGENT_BASE_CONFIG_H

#include <stdbool.h>
#include <stdio.h>
#include "base/config_data.h"

/**
 * Reads and checks a file. Each error is a line "file:line: message" on `errors`.
 * `join`: members to ask before those of the file (--join), ended by NULL; or NULL.
 * Returns NULL after an error.
 */
struct config *config_read(const char *file, const char *const *join, FILE *errors);
/** With `join`: sets the code that the cluster assigned, or that the running agent has. False,
 *  after an error on `errors`, if the file contradicts it. */
bool config_adopt(struct config *config, const char *host, const struct eh_topology *topology,
		  struct eh_code node, FILE *errors);
void config_free(struct config *config);

/** Whether `to` may replace `from` in a running agent. If not, `errors` says why. */
bool config_may_replace(const struct config *from, const struct config *to, FILE *errors);

/** Whether `exclude` keeps this program at home. */
bool config_excludes(const struct config *config, const char *program);

#endif
