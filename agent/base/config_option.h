/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file config_option.h
 * The options of the configuration file. config.c reads, checks, compares and frees a
 * configuration by this table; test_config_option compares it with the documents.
 */
#ifndef AGENT_BASE_CONFIG_OPTION_H
#define AGENT_BASE_CONFIG_OPTION_H

#include "base/config_kind.h"

#define CONFIG_OPTIONS 78
#define CONFIG_PEER_OPTIONS 2

/** Both end with a name of NULL. */
extern const struct config_option config_options[CONFIG_OPTIONS + 1];
extern const struct config_option config_peer_options[CONFIG_PEER_OPTIONS + 1];

/** NULL: there is no such option. */
const struct config_option *config_option_find(const struct config_option *table, const char *name);

#endif
