// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/nodes.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/agent.h"
#include "base/user.h"
#include "cluster/drain.h"
#include "ctl/rights.h"
#include "ctl/socket.h"
#include "executor/guest.h"
#include "job/attributes.h"
#include "net/link.h"
#include "net/names.h"
#include "net/peer.h"
#include "net/peers.h"

#define NODES_ASK_MS 2000

struct nodes_call {
	struct ctl_conn *conn;
	struct peer *peer;
};

static void nodes_reply(struct ctl_conn *c, const struct peer *peer, const json_t *said)
{
	json_t *reply =
		json_pack("{s:i,s:s,s:s}", "version", 1, "node", peer->text, "host", peer->host);

	if (reply)
		json_object_update_missing(reply, (json_t *)said);
	ctl_reply(c, reply);
}

static void nodes_on_reply(void *ctx, int status, const json_t *reply)
{
	const char *why = json_string_value(json_object_get(reply, "error"));
	struct nodes_call *call = ctx;

	if (status == 200)
		nodes_reply(call->conn, call->peer, reply);
	else if (status == 404 || status == 405)
		ctl_reply(call->conn,
			  ctl_error(call->peer->host,
				    "its agent is of an earlier version and does not know this",
				    false));
	else if (why)
		ctl_reply(call->conn, ctl_error(call->peer->host, why, false));
	else
		ctl_reply(call->conn,
			  ctl_error(call->peer->host,
				    *call->peer->trouble ? call->peer->trouble
							 : "the agent there did not answer",
				    false));
	free(call);
}

/* The node that the request names, this one by default. NULL after an error reply. */
static struct peer *nodes_named(struct ctl_conn *c, const json_t *request)
{
	const char *name = json_string_value(json_object_get(request, "node"));
	struct peer *peer;
	char why[NAMES_WHY];

	if (!name)
		return peers_self(ctl_agent(c));
	peer = names_find(ctl_agent(c), name, why);
	if (!peer)
		ctl_reply(c, ctl_error(name, why, true));
	return peer;
}

/* Takes over `body`, which may be NULL. */
static void nodes_ask(struct ctl_conn *c, struct peer *peer, const char *path, json_t *body)
{
	struct nodes_call *call = malloc(sizeof(*call));

	if (!call) {
		json_decref(body);
		ctl_reply(c, NULL);
		return;
	}
	*call = (struct nodes_call){ c, peer };
	if (link_request(peer, path, body, NODES_ASK_MS, nodes_on_reply, call)) {
		free(call);
		ctl_reply(c, NULL);
	}
}

uid_t nodes_login(const struct ctl_conn *c)
{
	struct attributes_who who;
	uid_t uid = ctl_uid(c);

	if (ctl_pid(c) > 0 && !attributes_read(ctl_pid(c), uid, &who, NULL) &&
	    who.loginuid != (uint32_t)-1)
		uid = who.loginuid;
	return uid;
}

json_t *nodes_caller(const struct ctl_conn *c)
{
	const char *host = peer_host(peers_self(ctl_agent(c)));
	uid_t uid = nodes_login(c);
	const char *name = user_name(uid);

	return name ? json_sprintf("%s@%s", name, host) : json_sprintf("%u@%s", uid, host);
}

static void nodes_set_drain(struct ctl_conn *c, const json_t *request, bool draining)
{
	const char *reason = json_string_value(json_object_get(request, "reason"));
	struct peer *peer = nodes_named(c, request);
	int status = 200;
	json_t *body;

	if (!peer)
		return;
	body = json_pack("{s:b,s:o,s:s,s:b}", "draining", (int)draining, "by", nodes_caller(c),
			 "reason", reason ? reason : "", "away",
			 json_is_true(json_object_get(request, "away")));
	if (!peer->self) {
		nodes_ask(c, peer, "/v1/drain", body);
		return;
	}
	json_decref(drain_on_request(ctl_agent(c), peer, body, &status));
	json_decref(body);
	nodes_reply(c, peer, NULL);
}

void nodes_drain(struct ctl_conn *c, const json_t *request)
{
	nodes_set_drain(c, request, true);
}

void nodes_undrain(struct ctl_conn *c, const json_t *request)
{
	nodes_set_drain(c, request, false);
}

void nodes_guests(struct ctl_conn *c, const json_t *request)
{
	struct peer *peer = nodes_named(c, request);
	int status = 200;
	json_t *said;

	if (!peer)
		return;
	if (!peer->self) {
		nodes_ask(c, peer, "/v1/guests", NULL);
		return;
	}
	said = guest_on_ask(ctl_agent(c), peer, NULL, &status);
	nodes_reply(c, peer, said);
	json_decref(said);
}
