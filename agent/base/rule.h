/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file rule.h
 * The site's rules of the configuration, about users of this host.
 */
#ifndef AGENT_BASE_RULE_H
#define AGENT_BASE_RULE_H

#include <stdbool.h>
#include <sys/types.h>

struct config;

#define RULE_TEXT 160

/** Whether tasks of other nodes of this user run here; else `why`. */
bool rule_takes_user(const struct config *config, uid_t uid, char why[RULE_TEXT]);
/** Whether tasks of this user leave this node; else `why`. */
bool rule_sends_user(const struct config *config, uid_t uid, char why[RULE_TEXT]);
/** Whether tasks of this host run here; else `why`. */
bool rule_takes_node(const struct config *config, const char *host, char why[RULE_TEXT]);
/** Whether tasks leave for this host; else `why`. */
bool rule_sends_node(const struct config *config, const char *host, char why[RULE_TEXT]);
/** Called with the name of a setting and an item of it that nobody here has. */
typedef void (*rule_unknown_fn)(void *ctx, const char *setting, const char *item, bool denies);
/** Finds users and groups in rules that are not known on this host: perhaps they are misspelt. */
void rule_find_unknown(const struct config *config, rule_unknown_fn found, void *ctx);
/** Whether this user may say that the node is needed. */
bool rule_is_owner(const struct config *config, uid_t uid);
/** Whether this program leaves; else `why`. Paths as of site_what(). */
bool rule_sends_program(const struct config *config, const char *given, const char *real,
			char why[RULE_TEXT]);

#endif
