/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file config_rules.h  The rules of the site, and who enforces them: `ehagent -t`. */
#ifndef AGENT_BASE_CONFIG_RULES_H
#define AGENT_BASE_CONFIG_RULES_H

#include <stdio.h>

struct config;

/** Prints them as they stand in a file, with their defaults. */
void config_rules_print(const struct config *config, FILE *to);

#endif
