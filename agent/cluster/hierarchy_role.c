// SPDX-License-Identifier: GPL-2.0-or-later
/* This node's part in the hierarchy: the levels that it leads, and the controllers above it. */

#include "cluster/hierarchy_inside.h"

#include <jansson.h>

#include "base/agent.h"
#include "base/config.h"
#include "base/label.h"
#include "cluster/drain.h"
#include "cluster/hierarchy.h"
#include "cluster/report.h"
#include "cluster/seat.h"
#include "eh/topology.h"
#include "net/peer.h"
#include "net/peers.h"
#include "node/memory.h"
#include "node/usage.h"

struct peer *hierarchy_controller(struct agent *agent)
{
	return hierarchy_rank(agent) || !agent->hierarchy->parent ? peers_self(agent)
								  : agent->hierarchy->parent;
}

struct peer *hierarchy_top(struct agent *agent)
{
	if (agent->hierarchy->parent && agent->hierarchy->top_hint &&
	    agent->hierarchy->top_hint->known)
		return agent->hierarchy->top_hint;
	return peers_self(agent);
}

struct peer *hierarchy_known_top(struct agent *agent)
{
	struct peer *top = hierarchy_top(agent);

	return top->self && hierarchy_rank(agent) < agent->config->topology.l ? NULL : top;
}

unsigned int hierarchy_rank(struct agent *agent)
{
	return agent->hierarchy ? eh_member_rank(agent->hierarchy->member) : 0;
}

const struct eh_member *hierarchy_member(struct agent *agent)
{
	return agent->hierarchy->member;
}

uint64_t hierarchy_epoch(struct agent *agent)
{
	return agent->hierarchy ? eh_member_rule(agent->hierarchy->member).epoch : 0;
}

const struct hierarchy_counts *hierarchy_counts(struct agent *agent)
{
	return &agent->hierarchy->counted;
}

json_t *hierarchy_own_node(struct agent *agent)
{
	const double used = memory_used(agent);
	json_t *of = json_array(), *own;
	struct site_labels labels;
	struct report r;

	for (unsigned int level = 1; level <= hierarchy_rank(agent); level++) {
		struct eh_code group = { level,
					 agent->self.index >> (agent->config->topology.n * level) };
		char text[EH_CODE_TEXT];

		json_array_append_new(
			of, json_string(eh_code_format(&agent->config->topology, group, text)));
	}
	report_own(agent, &r);
	own = report_node(&r, agent->code, peer_host(peers_self(agent)), of);
	if (own) {
		json_object_set_new(own, "drain", drain_json(agent));
		label_own(agent->config, &labels);
		json_object_set_new(own, "labels", label_to_json(&labels));
		json_object_set_new(own, "utilization", json_real(usage_get(agent)));
		json_object_set_new(own, "memory", used < 0 ? json_null() : json_real(used));
		json_object_set_new(own, "gangs", seat_json(agent));
	}
	return own;
}
