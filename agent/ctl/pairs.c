// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/user.h"
#include "cluster/pair.h"
#include "ctl/nodes.h"
#include "ctl/pair_run.h"
#include "ctl/socket.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/peers.h"

#define PAIRS_AT_ONCE 8 /* nodes that test */
#define PAIRS_MS 60000 /* no other node is asked then */

struct pairs {
	struct ctl_conn *conn;
	struct agent *agent;
	struct peer **nodes; /* in the order of codes */
	uint32_t *numbers; /* theirs */
	size_t n, next; /* the next one to ask */
	unsigned int active;
	uint64_t began;
	json_t *user; /* who asks */
	json_t *lists; /* for each node its pairs, once it has answered */
};

/* One node that tests. */
struct pairs_ask {
	struct pairs *of;
	struct peer *from;
	size_t at; /* of it among the nodes */
	json_t *nodes; /* codes of those that it tests */
};

static void pairs_go_on(struct pairs *p);

static void pairs_free(struct pairs *p)
{
	free(p->nodes);
	free(p->numbers);
	json_decref(p->user);
	json_decref(p->lists);
	free(p);
}

static void pairs_end(struct pairs *p)
{
	const size_t all = p->n * (p->n - 1);
	json_t *pairs = json_array(), *list;
	size_t i;

	json_array_foreach(p->lists, i, list)
		json_array_extend(pairs, list);
	i = json_array_size(pairs);
	ctl_reply(p->conn,
		  json_pack("{s:i,s:o,s:I,s:I}", "version", 1, "pairs", pairs, "nodes",
			    (json_int_t)p->n, "left_out", (json_int_t)(all > i ? all - i : 0)));
	pairs_free(p);
}

/* ---- what a node has found ---- */

static const json_t *pairs_facts(const json_t *answer, const char *node)
{
	const json_t *facts;
	size_t i;

	json_array_foreach(json_object_get(answer, "pairs"), i, facts)
		if (!strcmp(json_string_value(json_object_get(facts, "node")) ?: "", node) &&
		    /* else it says nothing of a connection */
		    (json_is_integer(json_object_get(facts, "protocol")) ||
		     json_object_get(facts, "failed")))
			return facts;
	return NULL;
}

static bool pairs_are_good(const json_t *checks)
{
	const json_t *c;
	size_t i;

	json_array_foreach((json_t *)checks, i, c)
		if (strcmp(json_string_value(json_object_get(c, "level")) ?: "", "note"))
			return false;
	return true;
}

/* `facts` NULL: not tested, because of `why`. */
static void pairs_add(json_t *list, const struct peer *from, const struct peer *to,
		      const json_t *facts, const char *why)
{
	/* of what a node says, what it may say */
	static const char *const members[] = { "skew_ms",  "within_ms", "certificate_seconds",
					       "protocol", "release",	"addresses",
					       "failed",   "trouble",	"users_tested" };
	const struct pair_names names = { peer_host(from), peer_host(to), to->address.text };
	json_t *checks = facts ? pair_judge(facts, &names) : json_array();
	json_t *pair = json_pack("{s:s,s:s,s:s,s:s,s:b,s:s?,s:b,s:o}", "from", peer_code(from),
				 "from_host", peer_host(from), "to", peer_code(to), "to_host",
				 peer_host(to), "tested", facts != NULL, "why", facts ? NULL : why,
				 "ok", facts && pairs_are_good(checks), "checks", checks);

	for (size_t i = 0; facts && i < sizeof(members) / sizeof(*members); i++)
		if (json_object_get(facts, members[i]))
			json_object_set(pair, members[i], json_object_get(facts, members[i]));
	json_array_append_new(list, pair);
}

static void pairs_take(struct pairs_ask *ask, const json_t *answer, const char *why)
{
	struct pairs *p = ask->of;
	const json_t *code;
	size_t i;

	json_array_foreach(ask->nodes, i, code) {
		const char *text = json_string_value(code);
		struct peer *to = peers_by_text(p->agent, text);

		/* it has left meanwhile */
		if (to)
			pairs_add(json_array_get(p->lists, ask->at), ask->from, to,
				  pairs_facts(answer, text),
				  why ?: "it has no time for more, or does not know this node");
	}
	json_decref(ask->nodes);
	free(ask);
}

static void pairs_hear(struct pairs_ask *ask, int status, const json_t *answer)
{
	const char *error = json_string_value(json_object_get(answer, "error"));
	struct pairs *p = ask->of;

	if (!status)
		error = *ask->from->trouble ? ask->from->trouble : "its agent does not answer";
	else if (status == 404)
		error = "its agent is of an earlier version and does not test others";
	else if (status != 200 && !error)
		error = "its agent refused";
	pairs_take(ask, status == 200 ? answer : NULL, status == 200 ? NULL : error);
	p->active--;
	pairs_go_on(p);
}

static void pairs_on_own(void *ctx, int status, json_t *answer)
{
	pairs_hear(ctx, status, answer);
	json_decref(answer);
}

static void pairs_on_answer(void *ctx, int status, const json_t *answer)
{
	pairs_hear(ctx, status, answer);
}

/* ---- the nodes are asked ---- */

/* Of a large group from the one behind it on, so that each is tested by some. */
static json_t *pairs_of(const struct pairs *p, size_t at)
{
	const size_t first = p->n > PAIR_RUN_NODES ? at + 1 : 0;
	json_t *codes = json_array();

	for (size_t i = 0; i < p->n && json_array_size(codes) < PAIR_RUN_NODES; i++) {
		const size_t k = (first + i) % p->n;

		if (pair_is_tested(&p->agent->config->topology, p->numbers, p->n, at, k))
			json_array_append_new(codes, json_string(peer_code(p->nodes[k])));
	}
	return codes;
}

static void pairs_ask(struct pairs *p, size_t at)
{
	struct pairs_ask *ask = malloc(sizeof(*ask));
	json_t *body;

	if (!ask)
		return;
	*ask = (struct pairs_ask){ p, p->nodes[at], at, pairs_of(p, at) };
	if (clock_ms() - p->began > PAIRS_MS) {
		pairs_take(ask, NULL, "the time for all was over");
		return;
	}
	body = json_pack("{s:O,s:O}", "nodes", ask->nodes, "user", p->user);
	p->active++;
	if (ask->from->self) {
		pair_run_own(p->agent, body, pairs_on_own, ask);
		json_decref(body);
	} else if (link_request(ask->from, "/v1/pairs", body, PAIR_RUN_MS + 10000, pairs_on_answer,
				ask)) {
		p->active--;
		pairs_take(ask, NULL, "out of memory");
	}
}

/* A node may have its answer at once: then it is called again inside. */
static void pairs_go_on(struct pairs *p)
{
	p->active++;
	while (p->next < p->n && p->active <= PAIRS_AT_ONCE)
		pairs_ask(p, p->next++);
	if (!--p->active && p->next == p->n)
		pairs_end(p);
}

/* ---- the request ---- */

static int pairs_by_code(const void *a, const void *b)
{
	const struct peer *const *x = a, *const *y = b;

	return (*x)->code.index < (*y)->code.index ? -1 : (*x)->code.index > (*y)->code.index;
}

/* False: no memory. */
static bool pairs_find_nodes(struct pairs *p)
{
	struct peer *peer;
	size_t n = 0;

	for (peer = peers_next(p->agent, NULL); peer; peer = peers_next(p->agent, peer))
		n++;
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
	p->nodes = calloc(n + 1, sizeof(*p->nodes));
	p->numbers = calloc(n + 1, sizeof(*p->numbers));
	if (!p->nodes || !p->numbers)
		return false;
	for (peer = peers_next(p->agent, NULL); peer; peer = peers_next(p->agent, peer))
		p->nodes[p->n++] = peer;
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): the same */
	qsort(p->nodes, p->n, sizeof(*p->nodes), pairs_by_code);
	for (size_t i = 0; i < p->n; i++)
		if (json_array_append_new(p->lists, json_array()))
			return false;
	for (size_t i = 0; i < p->n; i++)
		p->numbers[i] = p->nodes[i]->code.index;
	return true;
}

void pairs_request(struct ctl_conn *c, const json_t *request)
{
	struct pairs *p = calloc(1, sizeof(*p));
	const uid_t uid = nodes_login(c);
	const char *name = user_name(uid);

	if (!p) {
		ctl_reply(c, NULL);
		return;
	}
	*p = (struct pairs){ .conn = c, .agent = ctl_agent(c), .began = clock_ms() };
	p->user = name ? json_pack("[I,s]", (json_int_t)uid, name) : json_array();
	p->lists = json_array();
	if (p->user && p->lists && pairs_find_nodes(p)) {
		pairs_go_on(p);
		return;
	}
	ctl_reply(c, NULL);
	pairs_free(p);
}
