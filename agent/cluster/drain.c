// SPDX-License-Identifier: GPL-2.0-or-later
#include "cluster/drain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/peer.h"
#include "node/node.h"

#define DRAIN_TEXT 256

struct drain {
	char by[DRAIN_TEXT], reason[DRAIN_TEXT];
	int64_t since; /* wall clock, ms */
};

/* Whole characters of UTF-8, and nothing that moves the cursor of a terminal. */
static void drain_copy(char out[DRAIN_TEXT], const char *text)
{
	size_t n = strnlen(text ? text : "", DRAIN_TEXT - 1);

	if (n)
		memcpy(out, text, n);
	if (n && text[n])
		while (n && (text[n] & 0xc0) == 0x80)
			n--;
	out[n] = '\0';
	for (char *c = out; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
}

void drain_set(struct agent *agent, bool draining, const char *by, const char *reason)
{
	if (!draining)
		drain_exit(agent);
	else if (!agent->drain)
		agent->drain = calloc(1, sizeof(*agent->drain));
	/* Without memory it drains all the same, and nobody knows why. */
	if (agent->drain) {
		drain_copy(agent->drain->by, by);
		drain_copy(agent->drain->reason, reason);
		if (!agent->draining)
			agent->drain->since = clock_wall_ms();
	}
	agent->draining = draining;
	node_touch(agent);
}

json_t *drain_json(const struct agent *agent)
{
	char when[32];

	if (!agent->draining || !agent->drain)
		return json_null();
	return json_pack("{s:s,s:s,s:s}", "by", agent->drain->by, "reason", agent->drain->reason,
			 "since", clock_text(agent->drain->since, when));
}

const char *drain_reason(const struct agent *agent)
{
	return agent->draining && agent->drain ? agent->drain->reason : "";
}

void drain_exit(struct agent *agent)
{
	free(agent->drain);
	agent->drain = NULL;
}

json_t *drain_on_request(struct agent *agent, struct peer *from, const json_t *body, int *status)
{
	const json_t *flag = json_object_get(body, "draining");
	const char *by = json_string_value(json_object_get(body, "by"));

	if (!json_is_boolean(flag)) {
		*status = 400;
		return json_pack("{s:s}", "error", "draining is missing");
	}
	drain_set(agent, json_is_true(flag), by && *by ? by : peer_host(from),
		  json_string_value(json_object_get(body, "reason")));
	log_info("%s by %s, for %s", agent->draining ? "drained" : "undrained", peer_code(from),
		 by && *by ? by : "a user there");
	return json_object();
}
