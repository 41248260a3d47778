// SPDX-License-Identifier: GPL-2.0-or-later
/* What this node says of itself. */

#include "cluster/report.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>
#include <jansson.h>

#include "base/agent.h"
#include "eh/eh.h"
#include "eh/rule.h"
#include "node/kernel.h"
#include "node/node.h"
#include "wire/view.h"

const char *report_state_name(enum eh_state state)
{
	return eh_state_names[state];
}

uint64_t report_id(const char *placement)
{
	return XXH3_64bits(placement, strlen(placement));
}

bool report_id_is_of(const char *placement, const char *code)
{
	const size_t n = strlen(code);

	if (strncmp(placement, code, n) != 0 || placement[n] != ':' || !placement[n + 1])
		return false;
	placement += n + 1;
	return strspn(placement, "0123456789") == strlen(placement);
}

void report_own(struct agent *agent, struct report *out)
{
	const struct node_settings *set = node_settings(agent);
	const struct node_view *view = node_view(agent);

	*out = (struct report){
		.own = { .load = node_load(agent) < EH_NODE_MAX ? node_load(agent) : EH_NODE_MAX,
			 .threshold = set->threshold,
			 .length = set->length,
			 .floor = agent->config->threshold_floor,
			 .capacity = agent->config->capacity,
			 .nodes = 1,
			 .draining = agent->draining,
			 .dwell = node_dwells(agent) },
		.module = agent->module,
		.local = view->local,
		.guest = view->guest,
		.away = view->away,
	};
}

int report_number(const json_t *body, const char *name, uint64_t max, uint64_t *out)
{
	const json_t *value = json_object_get(body, name);
	json_int_t n = json_integer_value(value);

	if (!json_is_integer(value) || n < 0 || (uint64_t)n > max)
		return -EINVAL;
	*out = n;
	return 0;
}

json_t *report_node(const struct report *r, const char *code, const char *host, json_t *of)
{
	if (!r)
		return json_pack(
			"{s:s,s:s,s:s,s:n,s:n,s:n,s:n,s:{s:i,s:i,s:i},s:o,s:b,s:b,s:n,s:[],s:s}",
			"code", code, "host", host, "state", "unknown", "load", "threshold",
			"threshold_length", "capacity", "tasks", "local", 0, "guest", 0, "away", 0,
			"controller_of", of, "module", 0, "draining", 0, "drain", "labels", "agent",
			"down");
	return json_pack("{s:s,s:s,s:s,s:f,s:f,s:f,s:f,s:{s:i,s:i,s:i},s:o,s:b,s:b,s:n,s:[],s:s}",
			 "code", code, "host", host, "state",
			 report_state_name(eh_report_state(&r->own)), "load", r->own.load / 1000.0,
			 "threshold", r->own.threshold / 1000.0, "threshold_length",
			 r->own.length / 1000.0, "capacity", r->own.capacity / 1000.0, "tasks",
			 "local", (int)r->local, "guest", (int)r->guest, "away", (int)r->away,
			 "controller_of", of, "module", (int)r->module, "draining",
			 (int)r->own.draining, "drain", "labels", "agent", "up");
}
