// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The whole hierarchy, for `ehctl status` and `tree`: each controller asks those below it, all
 * at once. Nodes of a controller that does not answer are shown as unknown.
 */

#include "cluster/gather.h"

#include <stdlib.h>
#include <string.h>
#include <jansson.h>

#include "base/agent.h"
#include "cluster/hierarchy.h"
#include "cluster/report.h"
#include "eh/eh.h"
#include "eh/member.h"
#include "eh/topology.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/peers.h"
#include "net/server.h"

#define GATHER_MS 1000 /* for each level */

struct gather {
	struct agent *agent;
	unsigned int waits; /* answers to come, and one for the caller */
	json_t *nodes, *groups;
	gather_fn done;
	void *ctx;
};

struct gather_call {
	struct gather *of;
	unsigned int level, digit;
	struct peer *to;
};

static const struct eh_topology *gather_topology(const struct agent *agent)
{
	return &agent->config->topology;
}

static uint32_t gather_group(const struct agent *agent, uint32_t node, unsigned int level)
{
	return node >> (gather_topology(agent)->n * level);
}

static unsigned int gather_digit(const struct agent *agent, uint32_t node, unsigned int level)
{
	return gather_group(agent, node, level - 1) & ((1u << gather_topology(agent)->n) - 1);
}

static void gather_release(struct gather *g)
{
	if (--g->waits)
		return;
	g->done(g->ctx, json_pack("{s:I,s:o,s:o}", "epoch", (json_int_t)hierarchy_epoch(g->agent),
				  "nodes", g->nodes, "groups", g->groups));
	free(g);
}

/* ---- nodes ---- */

static void gather_unknown(struct gather *g, struct peer *p)
{
	json_array_append_new(g->nodes, report_node(NULL, p->text, peer_host(p), json_array()));
}

/* The known nodes of a child that does not report or answer. */
static void gather_absent(struct gather *g, unsigned int level, unsigned int digit)
{
	struct peer *p;

	for (p = peers_next(g->agent, NULL); p; p = peers_next(g->agent, p))
		if (gather_group(g->agent, p->code.index, level) ==
			    gather_group(g->agent, g->agent->self.index, level) &&
		    gather_digit(g->agent, p->code.index, level) == digit)
			gather_unknown(g, p);
}

/* A node of our own group: its last full report, with what we know better. */
static void gather_member(struct gather *g, const struct eh_child *c, uint32_t node)
{
	struct peer *p = peers_by_code(g->agent, (struct eh_code){ 0, node });
	json_t *said;

	if (!p)
		return;
	if (!p->said) {
		gather_unknown(g, p);
		return;
	}
	said = json_copy(p->said);
	/* newer than the full report */
	json_object_set_new(said, "threshold", json_real(c->own.threshold / 1000.0));
	json_array_append_new(g->nodes, said);
}

/*
 * Of what a controller says, each node or group once, with a code of the topology. Only what
 * is in this group of level `below`: a controller speaks for that.
 */
static void gather_take(const struct agent *agent, const json_t *list, bool are_groups,
			unsigned int below, uint32_t group, json_t *into)
{
	const struct eh_topology *t = gather_topology(agent);
	json_t *seen = json_object();
	char text[EH_CODE_TEXT];
	const json_t *one;
	size_t i;

	json_array_foreach((json_t *)list, i, one) {
		const char *said = json_string_value(json_object_get(one, "code"));
		struct eh_code code;

		if (!said || eh_code_parse(t, said, &code) || code.level > below ||
		    !code.level == are_groups ||
		    code.index >> (t->n * (below - code.level)) != group)
			continue;
		eh_code_format(t, code, text);
		if (!json_object_get(seen, text) && !json_object_set_new(seen, text, json_true()))
			json_array_append(into, (json_t *)one);
	}
	json_decref(seen);
}

static void gather_on_reply(void *ctx, int status, const json_t *reply)
{
	const json_t *nodes = json_object_get(reply, "nodes");
	const json_t *groups = json_object_get(reply, "groups");
	struct gather_call *call = ctx;
	struct gather *g = call->of;
	const unsigned int below = call->level - 1;
	uint32_t group = gather_group(g->agent, call->to->code.index, below);

	if (status == 200 && json_is_array(nodes) && json_is_array(groups)) {
		gather_take(g->agent, nodes, false, below, group, g->nodes);
		gather_take(g->agent, groups, true, below, group, g->groups);
	} else {
		gather_absent(g, call->level, call->digit);
	}
	free(call);
	gather_release(g);
}

/* A child that is a group: asks its controller. */
static void gather_ask(struct gather *g, unsigned int level, unsigned int digit, uint32_t node)
{
	struct peer *to = peers_by_code(g->agent, (struct eh_code){ 0, node });
	struct gather_call *call = to ? malloc(sizeof(*call)) : NULL;

	if (!call)
		goto absent;
	*call = (struct gather_call){ g, level, digit, to };
	g->waits++;
	if (!link_request(to, "/v1/nodes", NULL, GATHER_MS * level, gather_on_reply, call))
		return;
	g->waits--;
	free(call);
absent:
	gather_absent(g, level, digit);
}

static void gather_level(struct gather *g, unsigned int level)
{
	struct eh_code code = { level, gather_group(g->agent, g->agent->self.index, level) };
	char text[EH_CODE_TEXT];
	struct eh_sums sums;
	unsigned int nodes = 0;

	for (unsigned int i = 0; i < 1u << gather_topology(g->agent)->n; i++) {
		struct eh_child c;
		uint32_t node;

		if (i == gather_digit(g->agent, g->agent->self.index, level))
			continue;
		if (eh_member_child(hierarchy_member(g->agent), level, i, &c, &node))
			gather_absent(g, level, i);
		else if (level == 1)
			gather_member(g, &c, node);
		else
			gather_ask(g, level, i, node);
	}
	if (eh_member_sums(hierarchy_member(g->agent), level, &sums))
		return;
	nodes = sums.nodes;
	json_array_append_new(
		g->groups, json_pack("{s:s,s:i,s:s,s:s,s:f,s:f,s:f,s:s,s:i,s:i}", "code",
				     eh_code_format(gather_topology(g->agent), code, text), "level",
				     (int)level, "controller", g->agent->code, "host",
				     peer_host(peers_self(g->agent)), "load", sums.load / 1000.0,
				     "threshold", sums.threshold / 1000.0, "threshold_length",
				     sums.length / 1000.0, "state", report_state_name(sums.state),
				     "members", (int)sums.members, "nodes", (int)nodes));
}

/* What is below this node's rank. */
static void gather_below(struct agent *agent, gather_fn done, void *ctx)
{
	struct gather *g = calloc(1, sizeof(*g));

	if (!g) {
		done(ctx, NULL);
		return;
	}
	*g = (struct gather){ agent, 1, json_array(), json_array(), done, ctx };
	json_array_append_new(g->nodes, hierarchy_own_node(g->agent));
	for (unsigned int level = 1; level <= hierarchy_rank(g->agent); level++)
		gather_level(g, level);
	gather_release(g);
}

/* ---- of the whole cluster ---- */

/* No top controller, or no answer from it: of other nodes only their names are known. */
static void gather_alone(struct agent *agent, gather_fn done, void *ctx)
{
	json_t *nodes = json_array(), *node;
	struct peer *p;

	for (p = peers_next(agent, NULL); p; p = peers_next(agent, p)) {
		if (p->self) {
			json_array_append_new(nodes, hierarchy_own_node(agent));
			continue;
		}
		node = report_node(NULL, p->text, peer_host(p), json_array());
		json_object_set_new(node, "agent", json_string(peer_state(p)));
		json_array_append_new(nodes, node);
	}
	done(ctx, json_pack("{s:I,s:o,s:[]}", "epoch", (json_int_t)hierarchy_epoch(agent), "nodes",
			    nodes, "groups"));
}

struct gather_top {
	struct agent *agent;
	gather_fn done;
	void *ctx;
};

static void gather_on_top(void *ctx, int status, const json_t *reply)
{
	const json_t *said = json_object_get(reply, "nodes");
	const json_t *of_groups = json_object_get(reply, "groups");
	json_int_t epoch = json_integer_value(json_object_get(reply, "epoch"));
	struct gather_top *t = ctx;
	struct agent *agent = t->agent;
	const unsigned int l = gather_topology(agent)->l;
	json_t *nodes, *groups, *node;
	size_t i;

	if (status != 200 || !json_is_array(said) || !json_is_array(of_groups)) {
		gather_alone(agent, t->done, t->ctx);
		free(t);
		return;
	}
	nodes = json_array();
	groups = json_array();
	gather_take(agent, said, false, l, 0, nodes);
	gather_take(agent, of_groups, true, l, 0, groups);
	/* Our own data are newer here. */
	json_array_foreach(nodes, i, node)
		if (!strcmp(json_string_value(json_object_get(node, "code")) ?: "", agent->code))
			json_array_set_new(nodes, i, hierarchy_own_node(agent));
	t->done(t->ctx,
		json_pack("{s:I,s:o,s:o}", "epoch", epoch, "nodes", nodes, "groups", groups));
	free(t);
}

void gather_all(struct agent *agent, gather_fn done, void *ctx)
{
	struct peer *top = hierarchy_top(agent);
	struct gather_top *t;

	if (top->self && hierarchy_rank(agent) == gather_topology(agent)->l) {
		gather_below(agent, done, ctx);
		return;
	}
	t = top->self ? NULL : malloc(sizeof(*t));
	if (!t) {
		gather_alone(agent, done, ctx);
		return;
	}
	*t = (struct gather_top){ agent, done, ctx };
	if (link_request(top, "/v1/nodes", NULL, GATHER_MS * (gather_topology(agent)->l + 1),
			 gather_on_top, t)) {
		free(t);
		gather_alone(agent, done, ctx);
	}
}

static void gather_on_found(void *ctx, json_t *found)
{
	server_answer(ctx, found ? 200 : 503, found);
}

void gather_on_nodes(struct agent *agent, struct peer *from, const json_t *body,
		     struct server_answer *answer)
{
	gather_below(agent, gather_on_found, answer);
}
