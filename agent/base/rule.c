// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/rule.h"

#include <errno.h>
#include <stdio.h>

#include "base/config_data.h"
#include "base/user.h"
#include "site/node.h"
#include "site/what.h"
#include "site/who.h"

static int rule_in_group(void *uid, const char *group)
{
	return user_in_group(*(const uid_t *)uid, group);
}

/* `of`: "guest" or "away", with which the names of the settings begin. */
static void rule_say(char why[RULE_TEXT], const char *of, const char *kind, enum site_answer answer,
		     const char *item)
{
	if (answer == SITE_NOT_ALLOWED)
		snprintf(why, RULE_TEXT, "not in %s-allow-%s of its configuration", of, kind);
	else
		snprintf(why, RULE_TEXT, "\"%.64s\" in %s-deny-%s of its configuration%s", item, of,
			 kind,
			 answer != SITE_UNSURE ? ""
			 : *item == '@'	       ? ", a group that is not known there"
					       : ", and the user has no name there");
}

static bool rule_admits(const struct site_who *rule, const char *of, uid_t uid, char why[RULE_TEXT])
{
	const char *item, *name = rule->nallow || rule->ndeny ? user_name(uid) : NULL;
	enum site_answer answer;

	answer = site_who(rule, name ? name : "", uid, rule_in_group, &uid, &item);
	if (answer != SITE_MAY)
		rule_say(why, of, "users", answer, item);
	return answer == SITE_MAY;
}

bool rule_takes_user(const struct config *c, uid_t uid, char why[RULE_TEXT])
{
	const struct site_who rule = { c->guest_allow, c->guest_deny, c->nguest_allow,
				       c->nguest_deny };

	return rule_admits(&rule, "guest", uid, why);
}

bool rule_sends_user(const struct config *c, uid_t uid, char why[RULE_TEXT])
{
	const struct site_who rule = { c->away_allow, c->away_deny, c->naway_allow, c->naway_deny };

	return rule_admits(&rule, "away", uid, why);
}

static bool rule_admits_node(const struct site_node *rule, const char *of, const char *host,
			     char why[RULE_TEXT])
{
	enum site_answer answer = site_node(rule, host);

	if (answer != SITE_MAY)
		rule_say(why, of, "nodes", answer, host);
	return answer == SITE_MAY;
}

bool rule_takes_node(const struct config *c, const char *host, char why[RULE_TEXT])
{
	const struct site_node rule = { c->guest_allow_nodes, c->guest_deny_nodes,
					c->nguest_allow_nodes, c->nguest_deny_nodes };

	return rule_admits_node(&rule, "guest", host, why);
}

bool rule_sends_node(const struct config *c, const char *host, char why[RULE_TEXT])
{
	const struct site_node rule = { c->away_allow_nodes, c->away_deny_nodes,
					c->naway_allow_nodes, c->naway_deny_nodes };

	return rule_admits_node(&rule, "away", host, why);
}

bool rule_is_owner(const struct config *c, uid_t uid)
{
	const struct site_who rule = { .allow = c->owners, .nallow = c->nowners };
	char why[RULE_TEXT];

	return c->nowners && rule_admits(&rule, "owner", uid, why);
}

bool rule_sends_program(const struct config *c, const char *given, const char *real,
			char why[RULE_TEXT])
{
	const struct site_what rule = { c->away_allow_programs, c->away_deny_programs,
					c->naway_allow_programs, c->naway_deny_programs };
	const char *item;
	enum site_answer answer = site_what(&rule, given, real, &item);

	if (answer != SITE_MAY)
		rule_say(why, "away", "programs", answer, item);
	return answer == SITE_MAY;
}

/* A number may be without a name; but then nobody can say who is in that group. Without an answer nothing is told. */
static bool rule_is_known(const char *item, bool denies)
{
	unsigned int number;
	id_t id;

	if (!site_number(item + (*item == '@'), &number))
		return (*item == '@' ? user_group(item + 1, &id) : user_number(item, &id)) !=
		       -ENOENT;
	return *item != '@' || !denies || user_group_is_known(number) != -ENOENT;
}

void rule_find_unknown(const struct config *c, rule_unknown_fn found, void *ctx)
{
	const struct {
		const char *name;
		char *const *list;
		size_t n;
		bool denies;
	} lists[] = {
		{ "guest-allow-users", c->guest_allow, c->nguest_allow, false },
		{ "guest-deny-users", c->guest_deny, c->nguest_deny, true },
		{ "away-allow-users", c->away_allow, c->naway_allow, false },
		{ "away-deny-users", c->away_deny, c->naway_deny, true },
		{ "owners", c->owners, c->nowners, false },
	};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		for (size_t j = 0; j < lists[i].n; j++)
			if (!rule_is_known(lists[i].list[j], lists[i].denies))
				found(ctx, lists[i].name, lists[i].list[j], lists[i].denies);
}
