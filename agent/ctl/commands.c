// SPDX-License-Identifier: GPL-2.0-or-later
/* The requests of ehctl and their replies (docs/protocol.md, formats of `--json`). */

#include "ctl/commands.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <jansson.h>

#include "base/agent.h"
#include "cert/name.h"
#include "cluster/gather.h"
#include "cluster/hierarchy.h"
#include "cluster/invite.h"
#include "cluster/join.h"
#include "cluster/leave.h"
#include "cluster/withdraw.h"
#include "ctl/cancel.h"
#include "ctl/doctor.h"
#include "ctl/gangs.h"
#include "ctl/nodes.h"
#include "ctl/owner.h"
#include "ctl/pairs.h"
#include "ctl/past.h"
#include "ctl/rights.h"
#include "ctl/run.h"
#include "ctl/settings.h"
#include "ctl/share.h"
#include "ctl/socket.h"
#include "ctl/tasks.h"
#include "ctl/whole.h"
#include "ctl/why.h"
#include "eh/member.h"
#include "eh/topology.h"
#include "executor/guest.h"
#include "executor/reserve.h"
#include "home/counters.h"
#include "home/away.h"
#include "net/names.h"
#include "net/peer.h"
#include "net/revoked.h"
#include "net/server.h"
#include "node/cgroup.h"

/* ---- status ---- */

static int commands_by_code(const void *a, const void *b, void *topology)
{
	const struct eh_topology *t = topology;
	struct eh_code x = { 0 }, y = { 0 };

	eh_code_parse(t, json_string_value(json_object_get(*(json_t *const *)a, "code")) ?: "0",
		      &x);
	eh_code_parse(t, json_string_value(json_object_get(*(json_t *const *)b, "code")) ?: "0",
		      &y);
	if (x.level != y.level)
		return x.level > y.level ? -1 : 1;
	return x.index < y.index ? -1 : x.index > y.index;
}

/* A new array with the same items: higher levels first, each in the order of codes. */
static json_t *commands_sorted(struct eh_topology *topology, const json_t *list)
{
	size_t n = json_array_size(list);
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
	json_t **items = malloc((n + 1) * sizeof(*items)), *sorted = json_array();

	for (size_t i = 0; items && i < n; i++)
		items[i] = json_array_get(list, i);
	if (items)
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): the same */
		qsort_r(items, n, sizeof(*items), commands_by_code, topology);
	for (size_t i = 0; i < n; i++)
		json_array_append(sorted, items ? items[i] : json_array_get(list, i));
	free(items);
	return sorted;
}

static json_t *commands_messages(struct agent *agent)
{
	const struct hierarchy_counts *counts = hierarchy_counts(agent);
	json_t *sent = json_object(), *received = json_object();

	for (int type = EH_MSG_REPORT; type < EH_MSG_TYPES; type++) {
		json_object_set_new(sent, eh_message_name(type), json_integer(counts->sent[type]));
		json_object_set_new(received, eh_message_name(type),
				    json_integer(counts->received[type]));
	}
	return json_pack("{s:o,s:o}", "sent", sent, "received", received);
}

static void commands_name_all(const struct agent *agent, const json_t *list)
{
	json_t *item;
	size_t i;

	json_array_foreach((json_t *)list, i, item)
		names_add(agent, item);
}

static void commands_on_found(void *ctx, json_t *found)
{
	struct agent *agent = ctl_agent(ctx);
	json_t *status = NULL;

	if (found)
		status = json_pack(
			"{s:i,s:s,s:{s:i,s:i},s:O,s:s,s:s,s:o,s:o,s:o}", "version", 1, "self",
			agent->code, "topology", "n", (int)agent->config->topology.n, "l",
			(int)agent->config->topology.l, "epoch", json_object_get(found, "epoch"),
			"controller", peer_code(hierarchy_controller(agent)), "top",
			peer_code(hierarchy_top(agent)), "nodes",
			commands_sorted(&agent->config->topology, json_object_get(found, "nodes")),
			"groups",
			commands_sorted(&agent->config->topology, json_object_get(found, "groups")),
			"messages", commands_messages(agent));
	json_decref(found);
	if (status) {
		if (revoked_by(agent))
			json_object_set_new(status, "revoked_by", json_string(revoked_by(agent)));
		counters_add(agent, status);
		json_object_set_new(status, "quotas", server_quotas(agent));
		names_add(agent, status);
		commands_name_all(agent, json_object_get(status, "placed"));
	}
	ctl_reply(ctx, status);
}

static void commands_do_status(struct ctl_conn *c, const json_t *request)
{
	struct agent *agent = ctl_agent(c);

	gather_all(agent, commands_on_found, c);
}

/* ---- the table ---- */

static void commands_do_tasks(struct ctl_conn *c, const json_t *request)
{
	if (json_is_true(json_object_get(request, "all")))
		whole_tasks(c);
	else
		tasks_request(c, request);
}

static void commands_do_history(struct ctl_conn *c, const json_t *request)
{
	if (json_is_true(json_object_get(request, "all")))
		whole_history(c, request);
	else
		past_request(c, request);
}

static void commands_do_watch(struct ctl_conn *c, const json_t *request)
{
	ctl_watch(c);
}

static void commands_do_leave(struct ctl_conn *c, const json_t *request)
{
	bool now = json_is_true(json_object_get(request, "now"));
	struct agent *agent = ctl_agent(c);
	json_t *reply = json_pack("{s:i,s:i,s:i}", "version", 1, "guests",
				  (int)reserve_guests(agent), "away", (int)away_count(agent));

	leave_start(agent, now);
	/* Else they would wait for an agent that does not come. */
	if (now) {
		guest_end_all(agent, "the node leaves the cluster");
		away_end_all(agent);
	}
	ctl_reply(c, reply);
}

static void commands_do_reload(struct ctl_conn *c, const json_t *request)
{
	struct agent *agent = ctl_agent(c);
	char *why = NULL;

	if (agent->reload(agent, &why)) {
		if (why)
			why[strcspn(why, "\n")] = '\0';
		ctl_reply(c, ctl_error("the current configuration is kept", why ?: "out of memory",
				       false));
	} else {
		ctl_reply(c, json_pack("{s:i}", "version", 1));
	}
	free(why);
}

static void commands_do_doctor(struct ctl_conn *c, const json_t *request)
{
	struct agent *agent = ctl_agent(c);

	ctl_reply(c, doctor_report(agent));
}

static void commands_on_invited(void *ctx, json_t *reply, const char *why)
{
	ctl_reply(ctx, reply ?: ctl_error("invite", why, false));
}

static void commands_do_invite(struct ctl_conn *c, const json_t *request)
{
	const json_t *seconds = json_object_get(request, "seconds");
	const char *host = json_string_value(json_object_get(request, "host"));
	json_int_t n = seconds ? json_integer_value(seconds) : INVITE_SECONDS;

	if (n < 1 || n > INVITE_SECONDS_MAX) {
		ctl_reply(c, ctl_error("seconds", "must be a number from 1 to 604800", true));
		return;
	}
	if (json_object_get(request, "host") && (!host || !cert_is_host(host))) {
		ctl_reply(c, ctl_error("host", "not a name that a certificate may have", true));
		return;
	}
	invite_make(ctl_agent(c), n, host, commands_on_invited, c);
}

static void commands_on_revoked(void *ctx, json_t *reply, const char *why)
{
	ctl_reply(ctx, reply ?: ctl_error("revoke", why, false));
}

static void commands_do_revoke(struct ctl_conn *c, const json_t *request)
{
	const char *what = json_string_value(json_object_get(request, "what"));
	const char *host = json_string_value(json_object_get(request, "host"));

	if (!what == !host) {
		ctl_reply(c, ctl_error("revoke", "what or host is missing", true));
		return;
	}
	withdraw_make(ctl_agent(c), what, host, commands_on_revoked, c);
}

static void commands_do_revoked(struct ctl_conn *c, const json_t *request)
{
	ctl_reply(c, withdraw_list(ctl_agent(c)));
}

static const struct commands_command {
	const char *name;
	enum { ANYBODY, OPERATORS, ADMINS } who;
	void (*serve)(struct ctl_conn *c, const json_t *request);
} commands_commands[] = {
	{ "status", ANYBODY, commands_do_status },
	{ "nodes", ANYBODY, commands_do_status },
	{ "tree", ANYBODY, commands_do_status },
	{ "tasks", ANYBODY, commands_do_tasks },
	{ "why", ANYBODY, why_request },
	{ "run", ANYBODY, run_start },
	{ "get", ANYBODY, settings_get },
	{ "set", OPERATORS, settings_set },
	{ "drain", OPERATORS, nodes_drain },
	{ "undrain", OPERATORS, nodes_undrain },
	{ "watch", ANYBODY, commands_do_watch },
	{ "doctor", ANYBODY, commands_do_doctor },
	{ "pairs", OPERATORS, pairs_request },
	{ "leave", ADMINS, commands_do_leave },
	{ "guests", OPERATORS, nodes_guests },
	{ "cancel", ANYBODY, cancel_request },
	{ "history", ANYBODY, commands_do_history },
	{ "owner", ANYBODY, owner_request },
	{ "reload", ADMINS, commands_do_reload },
	{ "invite", ADMINS, commands_do_invite },
	{ "revoke", ADMINS, commands_do_revoke },
	{ "revoked", ANYBODY, commands_do_revoked },
	{ "slots", ANYBODY, share_request },
	{ "gang", ANYBODY, gangs_ask },
	{ "occupy", ANYBODY, gangs_occupy },
	{ "release", ANYBODY, gangs_release },
	{ "events", ANYBODY, whole_events },
};

static bool commands_may(const struct ctl_conn *c, unsigned int who)
{
	return who == ANYBODY || (who == OPERATORS ? ctl_is_operator(c) : ctl_is_admin(c));
}

void commands_request(struct ctl_conn *c, const json_t *request)
{
	struct agent *agent = ctl_agent(c);
	const char *name = json_string_value(json_object_get(request, "command"));

	if (!agent->member && (!name || strcmp(name, "doctor"))) {
		ctl_reply(c, ctl_error("this host has not joined the cluster yet",
				       join_trouble(agent), false));
		return;
	}
	for (size_t i = 0; name && i < sizeof(commands_commands) / sizeof(commands_commands[0]);
	     i++) {
		if (strcmp(name, commands_commands[i].name))
			continue;
		if (!commands_may(c, commands_commands[i].who))
			ctl_reply(c,
				  ctl_error(name,
					    commands_commands[i].who == OPERATORS &&
							    *agent->config->admin_group
						    ? "permitted for root only, and for members of "
						      "`admin-group` of the agent's configuration"
						    : "permitted for root only",
					    false));
		else
			commands_commands[i].serve(c, request);
		return;
	}
	ctl_reply(c, ctl_error(name ?: "command",
			       name ? "unknown to this version of the agent" : "missing", true));
}
