// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/owner.h"

#include "base/agent.h"
#include "base/rule.h"
#include "cluster/owner.h"
#include "ctl/nodes.h"
#include "ctl/rights.h"
#include "ctl/socket.h"
#include "executor/guest.h"
#include "executor/reserve.h"
#include "net/peer.h"
#include "net/peers.h"

static void owner_reply(struct ctl_conn *c)
{
	struct agent *agent = ctl_agent(c);
	json_t *reply = owner_json(agent);

	if (reply) {
		json_object_set_new(reply, "version", json_integer(1));
		json_object_set_new(reply, "node", json_string(agent->code));
		json_object_set_new(reply, "host", json_string(peer_host(peers_self(agent))));
		json_object_set_new(reply, "guests", json_integer(reserve_guests(agent)));
	}
	ctl_reply(c, reply);
}

void owner_request(struct ctl_conn *c, const json_t *request)
{
	const char *word = json_string_value(json_object_get(request, "mode"));
	const bool now = json_is_true(json_object_get(request, "now"));
	struct agent *agent = ctl_agent(c);
	enum owner_mode mode;
	json_t *by;

	if (!json_object_get(request, "mode")) {
		owner_reply(c);
		return;
	}
	if (!word || owner_parse(word, &mode) || (now && mode != OWNER_ON)) {
		ctl_reply(c, ctl_error("mode", "must be on, off or auto, and `now` goes with on",
				       true));
		return;
	}
	if (!ctl_is_operator(c) && !rule_is_owner(agent->config, ctl_uid(c))) {
		ctl_reply(c, ctl_error("owner",
				       "permitted for root, and for those whom `owners` and "
				       "`admin-group` of the agent's configuration name",
				       false));
		return;
	}
	by = nodes_caller(c);
	owner_set(agent, mode, json_string_value(by) ?: "");
	json_decref(by);
	if (now)
		guest_end_all(agent, "the owner of the node uses it");
	owner_reply(c);
}
