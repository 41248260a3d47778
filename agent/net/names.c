// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/names.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cluster/address.h"
#include "cluster/naming.h"
#include "net/peer.h"
#include "net/peers.h"

/* Those that the text may mean; the last one in *found. */
static unsigned int names_count(const struct agent *agent, const char *text, struct peer **found,
				char *list, size_t size)
{
	unsigned int count = 0;
	struct peer *p;
	size_t used = 0;

	for (p = peers_next(agent, NULL); p; p = peers_next(agent, p)) {
		int n;

		if (naming_of(p->host, text) == NAMING_NOT && strcmp(p->address.text, text) &&
		    !address_is(&p->address, text))
			continue;
		*found = p;
		n = snprintf(list + used, size - used, "%s%s (%s)", count++ ? ", " : "", p->host,
			     p->text);
		used += n < (int)(size - used) ? (size_t)n : size - used - 1;
	}
	return count;
}

static void names_suggest(const struct agent *agent, const char *text, char why[NAMES_WHY])
{
	struct naming_nearest n = { .wanted = text };
	struct peer *p;

	for (p = peers_next(agent, NULL); p; p = peers_next(agent, p)) {
		naming_try(&n, p->host);
		naming_try(&n, p->text);
	}
	if (n.best)
		snprintf(why, NAMES_WHY, "no such node in the cluster; did you mean %s?", n.best);
	else
		snprintf(why, NAMES_WHY,
			 "no such node in the cluster; `ehctl status` lists its nodes");
}

struct peer *names_find(const struct agent *agent, const char *text, char why[NAMES_WHY])
{
	struct peer *p = peers_by_text(agent, text), *found = NULL;
	char list[160];

	if (p)
		return p;
	if (!strcasecmp(text, "localhost"))
		return peers_self(agent);
	for (p = peers_next(agent, NULL); p; p = peers_next(agent, p))
		if (naming_of(p->host, text) == NAMING_FULL)
			return p;
	switch (names_count(agent, text, &found, list, sizeof(list))) {
	case 0:
		names_suggest(agent, text, why);
		return NULL;
	case 1:
		return found;
	default:
		snprintf(why, NAMES_WHY, "more than one node has this name: %s", list);
		return NULL;
	}
}

void names_add(const struct agent *agent, json_t *object)
{
	static const struct {
		const char *code, *host;
	} members[] = {
		{ "node", "host" },
		{ "home", "home_host" },
		{ "executor", "executor_host" },
		{ "self", "self_host" },
		{ "controller", "controller_host" },
		{ "top", "top_host" },
		{ "parent", "parent_host" },
	};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const char *code = json_string_value(json_object_get(object, members[i].code));
		struct peer *p = code ? peers_by_text(agent, code) : NULL;

		if (p && !json_object_get(object, members[i].host))
			json_object_set_new(object, members[i].host, json_string(p->host));
	}
}
