// SPDX-License-Identifier: GPL-2.0-or-later
#include "cluster/drain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/event.h"
#include "base/log.h"
#include "cluster/own_roster.h"
#include "net/peer.h"
#include "node/node.h"
#include "wire/clean.h"

#define DRAIN_TEXT 256

static struct log_limit drain_log;

struct drain_wish {
	char by[DRAIN_TEXT], reason[DRAIN_TEXT];
	int64_t since; /* wall clock, ms */
};

enum { DRAIN_ADMINS, DRAIN_OWNERS, DRAIN_WISHES };

/* About those that are set in the agent. */
struct drain {
	struct drain_wish wish[DRAIN_WISHES];
};

static void drain_wish(struct agent *agent, int which, bool *wished, bool wish, const char *by,
		       const char *reason)
{
	struct drain_wish *w;

	if (wish && !agent->drain)
		agent->drain = calloc(1, sizeof(*agent->drain));
	/* Without memory it drains all the same, and nobody knows why. */
	if (wish && agent->drain) {
		w = &agent->drain->wish[which];
		clean_text(w->by, sizeof(w->by), by ?: "");
		clean_text(w->reason, sizeof(w->reason), reason ?: "");
		if (!*wished)
			w->since = clock_wall_ms();
	}
	*wished = wish;
	agent->draining = agent->drained || agent->owned;
	node_touch(agent);
}

static json_t *drain_text(const char *said)
{
	char text[DRAIN_TEXT];

	return json_string(clean_text(text, sizeof(text), said ?: ""));
}

void drain_set(struct agent *agent, enum drain_extent extent, const char *by, const char *reason)
{
	agent->keeps = extent == DRAIN_ALL;
	drain_wish(agent, DRAIN_ADMINS, &agent->drained, extent != DRAIN_NOT, by, reason);
	event_tell(agent, "drain",
		   json_pack("{s:s,s:b,s:o,s:o}", "node", agent->code, "draining",
			     (int)agent->drained, "by", drain_text(by), "reason",
			     drain_text(reason)));
}

void drain_set_owned(struct agent *agent, bool owned, const char *by)
{
	drain_wish(agent, DRAIN_OWNERS, &agent->owned, owned, by, "its owner uses it");
}

/* Administrators come first. */
static const struct drain_wish *drain_why(const struct agent *agent)
{
	return !agent->drain || !agent->draining
		       ? NULL
		       : &agent->drain->wish[agent->drained ? DRAIN_ADMINS : DRAIN_OWNERS];
}

json_t *drain_json(const struct agent *agent)
{
	const struct drain_wish *w = drain_why(agent);
	char when[32];

	return w ? json_pack("{s:s,s:s,s:s}", "by", w->by, "reason", w->reason, "since",
			     clock_text(w->since, when))
		 : json_null();
}

const char *drain_reason(const struct agent *agent)
{
	const struct drain_wish *w = drain_why(agent);

	return w ? w->reason : "";
}

bool drain_is_owned(const struct agent *agent)
{
	return agent->owned && !agent->drained;
}

void drain_exit(struct agent *agent)
{
	free(agent->drain);
	agent->drain = NULL;
}

/* Where the command works. */
static json_t *drain_refusal(struct agent *agent)
{
	const struct peer *top = own_roster_top(agent);
	const char *host = agent->config->host;

	if (top && !top->self)
		return json_pack(
			"{s:o}", "error",
			json_sprintf("only its own host and that of the top controller may "
				     "do this: run the command on %s or on %s",
				     host, top->host));
	return json_pack("{s:o}", "error",
			 json_sprintf("it takes this from its own host%s only: run the command on "
				      "%s",
				      top ? ", which is the top controller," : "", host));
}

json_t *drain_on_request(struct agent *agent, struct peer *from, const json_t *body, int *status)
{
	const json_t *flag = json_object_get(body, "draining");
	const char *by = json_string_value(json_object_get(body, "by"));
	enum drain_extent extent = DRAIN_NOT;

	if (!json_is_boolean(flag)) {
		*status = 400;
		return json_pack("{s:s}", "error", "draining is missing");
	}
	/* Administrators of other hosts have no say here, but those of the top controller. */
	if (!from->self && from != own_roster_top(agent)) {
		*status = 403;
		if (log_allowed(&drain_log))
			log_warning("%s (%s) tried to %s this node; only this host and the top "
				    "controller may",
				    peer_code(from), peer_host(from),
				    json_is_true(flag) ? "drain" : "undrain");
		return drain_refusal(agent);
	}
	if (json_is_true(flag))
		extent = json_is_true(json_object_get(body, "away")) ? DRAIN_ALL : DRAIN_GUESTS;
	drain_set(agent, extent, by && *by ? by : peer_host(from),
		  json_string_value(json_object_get(body, "reason")));
	log_info("%s by %s, for %s", agent->drained ? "drained" : "undrained", peer_code(from),
		 by && *by ? by : "a user there");
	return json_object();
}
