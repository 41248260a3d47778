/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file config_kind.h
 * Kinds of options of the configuration file: how a value is checked, kept, compared and freed.
 */
#ifndef AGENT_BASE_CONFIG_KIND_H
#define AGENT_BASE_CONFIG_KIND_H

#include <confuse.h>
#include <stdbool.h>
#include <stddef.h>
#include "cluster/address.h"

struct config_kind;

/** The process that enforces a rule of the site. */
enum config_rule { CONFIG_NO_RULE, CONFIG_BY_EHLAUNCH, CONFIG_BY_MODULE, CONFIG_BY_EHAGENT };

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
	enum config_rule rule;
};

/** A record is a struct config or config_peer. Functions that a kind does not need are NULL. */
struct config_kind {
	cfg_type_t type;
	bool is_list;
	/** Checks the latest value while the parser is on its line. 0, or -1 after cfg_error(). */
	int (*check)(cfg_t *cfg, const struct config_option *option, cfg_opt_t *given);
	/** Of kind_check_form(): a check that comes first; how many items there may be, 0: any number;
	 *  whether the value is good, and what is said of one that is not. */
	int (*check_first)(cfg_t *cfg, const struct config_option *option, cfg_opt_t *given);
	unsigned int most;
	bool (*is_good)(const char *value);
	const char *is_bad;
	/** Copies what was given, or the default, into a record of zeros. 0 or -ENOMEM. */
	int (*take)(void *record, const struct config_option *option, cfg_opt_t *given);
	bool (*is_same)(const void *a, const void *b, const struct config_option *option);
	void (*free)(void *record, const struct config_option *option);
};

extern const struct config_kind config_kind_text, config_kind_texts; /**< strings */
extern const struct config_kind config_kind_path, config_kind_paths; /**< absolute */
extern const struct config_kind config_kind_whos; /**< users and groups: site/who.h */
extern const struct config_kind config_kind_user_map; /**< site/map.h */
extern const struct config_kind config_kind_programs; /**< and directories: site/what.h */
extern const struct config_kind config_kind_nodes; /**< names of hosts */
extern const struct config_kind config_kind_labels, config_kind_label_rules; /**< site/label.h */
extern const struct config_kind config_kind_file; /**< a path that can be read */
extern const struct config_kind config_kind_number; /**< an integer with limits */
extern const struct config_kind config_kind_tasks; /**< with limits; kept in thousandths */
extern const struct config_kind config_kind_flag; /**< true or false */
extern const struct config_kind config_kind_word; /**< one of some words */
extern const struct config_kind config_kind_topology;
extern const struct config_kind config_kind_code; /**< config.c takes it */
extern const struct config_kind config_kind_address;
extern const struct config_kind config_kind_join; /**< config.c takes it */
extern const struct config_kind config_kind_host; /**< CN of a certificate */
extern const struct config_kind config_kind_log; /**< levels of the log */

/** "ADDRESS", "ADDRESS:PORT" or "[ADDRESS]:PORT"; the port defaults to 7411. 0 or -EINVAL. */
int config_parse_join(const char *text, struct address *out);

#endif
