// SPDX-License-Identifier: GPL-2.0-or-later
/* This node's own load and threshold: told to the member when they have changed, and to people. */

#include "cluster/hierarchy_inside.h"

#include <stdbool.h>
#include <string.h>
#include <jansson.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/config.h"
#include "base/event.h"
#include "base/label.h"
#include "cluster/credits.h"
#include "cluster/drain.h"
#include "cluster/hierarchy.h"
#include "cluster/report.h"
#include "cluster/seat.h"
#include "eh/topology.h"
#include "net/peer.h"
#include "net/peers.h"
#include "node/memory.h"
#include "node/node.h"
#include "node/usage.h"

/* Not memcmp(), because of padding. */
static bool hierarchy_same(const struct eh_report *a, const struct eh_report *b)
{
	return a->load == b->load && a->threshold == b->threshold && a->length == b->length &&
	       a->floor == b->floor && a->capacity == b->capacity && a->nodes == b->nodes &&
	       a->draining == b->draining && a->dwell == b->dwell;
}

void hierarchy_touch_now(struct agent *agent)
{
	struct hierarchy *h = agent->hierarchy;
	uint64_t ids[EH_SEEN_MAX];
	struct report r;
	size_t n;

	if (!h)
		return;

	node_refresh(agent);
	credits_touch(agent);
	report_own(agent, &r);
	n = h->nseen;
	memcpy(ids, h->seen, n * sizeof(ids[0]));
	h->nseen = 0;
	n += h->ops->seen(agent, ids + n, EH_SEEN_MAX - n);
	if (eh_report_state(&r.own) != eh_report_state(&h->told))
		event_tell(agent, "state",
			   json_pack("{s:s,s:s,s:f}", "node", agent->code, "state",
				     report_state_name(eh_report_state(&r.own)), "load",
				     r.own.load / 1000.0));
	if (!n && hierarchy_same(&r.own, &h->told))
		return;
	h->told = r.own;
	hierarchy_step(agent, &(struct eh_member_event){
				      .type = EH_ME_LOAD,
				      .load = { .own = r.own, .seen = ids, .nseen = n } });
}

void hierarchy_guest_seen(struct agent *agent, uint64_t id)
{
	struct hierarchy *h = agent->hierarchy;

	/* When there is no room, the controller's grants expire by themselves. */
	if (h && h->nseen < EH_SEEN_MAX)
		h->seen[h->nseen++] = id;
}

void hierarchy_touch(struct agent *agent)
{
	if (agent->hierarchy && agent->hierarchy->soon)
		event_active(agent->hierarchy->soon, 0, 0);
}

void hierarchy_threshold_set(struct agent *agent)
{
	const struct node_settings *set = node_settings(agent);

	event_tell(agent, "threshold",
		   json_pack("{s:s,s:f,s:f,s:I}", "node", agent->code, "threshold",
			     set->threshold / 1000.0, "threshold_length", set->length / 1000.0,
			     "epoch", (json_int_t)hierarchy_epoch(agent)));
	hierarchy_touch(agent);
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
