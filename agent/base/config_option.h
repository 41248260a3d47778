/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file config_option.h
 * The options of the configuration file. config.c reads, checks, compares and frees a
 * configuration by this table; test_config_option compares it with the documents.
 */
#ifndef AGENT_BASE_CONFIG_OPTION_H
#define AGENT_BASE_CONFIG_OPTION_H

#include <stdbool.h>
#include <stddef.h>

#define CONFIG_OPTIONS 30
#define CONFIG_PEER_OPTIONS 2
#define CONFIG_PORT "7411"

struct config_kind;

struct config_option {
	const char *name;
	const struct config_kind *kind;
	const char *preset; /**< default, written as in the file but for quotes; NULL: see @help */
	double min, max; /**< limits of a number */
	const char *unit;
	const char *const *words; /**< allowed words; ends with NULL */
	size_t offset, size; /**< field of struct config or struct config_peer */
	size_t count; /**< field with the length of a list */
	size_t line; /**< field with the line where the option stands; 0: none */
	const char *called; /**< its name in an error of a reload; NULL: as @name */
	const char *help; /**< the comment in docs/configuration.md */
	unsigned int first_word; /**< value of the first word */
	bool required;
	bool fixed; /**< a reload cannot change it */
};

/** Both end with a name of NULL. */
extern const struct config_option config_options[CONFIG_OPTIONS + 1];
extern const struct config_option config_peer_options[CONFIG_PEER_OPTIONS + 1];

/** NULL: there is no such option. */
const struct config_option *config_option_find(const struct config_option *table, const char *name);

#endif
