// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process that ends closes its connection, however it ends: so the hosts of a gang are released when
 * their initiator is killed, too.
 */

#include "ctl/gangs.h"

#include <stdlib.h>

#include "base/agent.h"
#include "cluster/gang.h"
#include "ctl/rights.h"
#include "ctl/socket.h"
#include "net/names.h"
#include "net/peer.h"
#include "net/peers.h"

struct gangs_held {
	struct ctl_conn *conn;
	struct gang *gang; /* NULL: gang_new() has not returned */
	bool dead; /* the connection ended in between */
};

static void gangs_on_gone(void *ctx)
{
	struct gangs_held *h = ctx;

	if (!h->gang) {
		h->dead = true;
		return;
	}
	gang_drop(h->gang);
	free(h);
}

static void gangs_on_offered(void *ctx, json_t *hosts, const char *why)
{
	struct gangs_held *h = ctx;
	json_t *host;
	size_t i;

	if (!hosts) {
		ctl_reply(h->conn, ctl_error("gang", why, false));
		return;
	}
	json_array_foreach(hosts, i, host)
		names_add(ctl_agent(h->conn), host);
	ctl_reply(h->conn, json_pack("{s:i, s:o}", "version", 1, "hosts", hosts));
}

static void gangs_on_occupied(void *ctx, const char *why)
{
	const struct gangs_held *h = ctx;

	ctl_reply(h->conn, why ? ctl_error("gang", why, false) : json_pack("{s:i}", "version", 1));
}

static void gangs_on_lost(void *ctx, const char *node, const char *host, const char *why)
{
	const struct gangs_held *h = ctx;

	ctl_tell(h->conn, json_pack("{s:s, s:s, s:s, s:s}", "event", "gang-lost", "node", node,
				    "host", host, "why", why));
}

static void gangs_on_released(void *ctx)
{
	const struct gangs_held *h = ctx;

	ctl_reply(h->conn, json_pack("{s:i}", "version", 1));
}

static const struct gang_ops gangs_ops = {
	.offered = gangs_on_offered,
	.occupied = gangs_on_occupied,
	.lost = gangs_on_lost,
	.released = gangs_on_released,
};

void gangs_ask(struct ctl_conn *c, const json_t *request)
{
	const json_t *threshold = json_object_get(request, "threshold");
	double most = threshold ? json_number_value(threshold) : 2;
	struct gangs_held *h;
	struct gang *gang;
	const char *why;

	if ((threshold && !json_is_number(threshold)) || !(most >= 0 && most <= 2)) {
		ctl_reply(c, ctl_error("threshold", "must be a number from 0 to 2", true));
		return;
	}
	if (ctl_held(c)) {
		ctl_reply(c, ctl_error("gang", "this connection has a gang already", true));
		return;
	}
	h = calloc(1, sizeof(*h));
	if (!h) {
		ctl_reply(c, NULL);
		return;
	}
	h->conn = c;
	ctl_hold(c, h, gangs_on_gone);
	gang = gang_new(ctl_agent(c), ctl_uid(c), most, &gangs_ops, h, &why);
	if (!gang) {
		ctl_hold(c, NULL, NULL);
		free(h);
		ctl_reply(c, ctl_error("gang", why, false));
		return;
	}
	h->gang = gang;
	/* it was answered at once, and nobody reads the answer */
	if (h->dead)
		gangs_on_gone(h);
}

/* False, after a reply: a node is unknown. */
static bool gangs_take_nodes(struct ctl_conn *c, const json_t *list, uint32_t *nodes)
{
	const struct agent *agent = ctl_agent(c);
	const json_t *item;
	size_t i;

	json_array_foreach((json_t *)list, i, item) {
		const struct peer *p =
			json_is_string(item) ? peers_by_text(agent, json_string_value(item)) : NULL;

		if (!p) {
			ctl_reply(c, ctl_error("nodes", "codes of nodes are needed", true));
			return false;
		}
		nodes[i] = p->code.index;
	}
	return true;
}

void gangs_occupy(struct ctl_conn *c, const json_t *request)
{
	const json_t *list = json_object_get(request, "nodes");
	struct gangs_held *h = ctl_held(c);
	const char *why = NULL;
	uint32_t *nodes;

	if (!h || !json_is_array(list)) {
		ctl_reply(c, ctl_error(h ? "nodes" : "gang",
				       h ? "missing" : "no hosts were asked for", true));
		return;
	}
	nodes = calloc(json_array_size(list) + 1, sizeof(*nodes));
	if (!nodes) {
		ctl_reply(c, NULL);
		return;
	}
	if (gangs_take_nodes(c, list, nodes)) {
		why = gang_occupy(h->gang, nodes, json_array_size(list));
		if (why)
			ctl_reply(c, ctl_error("gang", why, false));
	}
	free(nodes);
}

void gangs_release(struct ctl_conn *c, const json_t *request)
{
	struct gangs_held *h = ctl_held(c);

	if (h)
		gang_release(h->gang);
	else
		ctl_reply(c, ctl_error("gang", "no hosts were asked for", true));
}
