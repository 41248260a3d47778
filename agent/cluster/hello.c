// SPDX-License-Identifier: GPL-2.0-or-later
#include "cluster/hello.h"

#include <stdio.h>
#include <string.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/user.h"
#include "cluster/own_roster.h"
#include "cluster/withdraw.h"
#include "net/client.h"
#include "net/h2_conn.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/peers.h"
#include "net/revoked.h"
#include "net/server_answer.h"

#define HELLO_JOIN_MS 5000 /* the request is forwarded to the top controller */
#define HELLO_TIME_MAX (1ll << 53) /* ms since 1970 */

static struct log_limit hello_refusals;

json_t *hello_new(struct agent *agent)
{
	json_t *o = json_pack(
		"{s:s,s:s,s:s,s:i,s:s,s:I,s:I,s:I,s:s,s:I,s:I,s:o*,s:s*}", "cluster",
		agent->config->cluster, "node", agent->code, "address", agent->config->address.text,
		"version", 1, "boot_id", clock_boot_id(), "capacity",
		(json_int_t)agent->config->capacity, "time", (json_int_t)clock_wall_ms(), "uptime",
		(json_int_t)(clock_ms() - agent->began), "users", user_digest(), "roster",
		(json_int_t)own_roster_version(agent), "revoked", (json_int_t)revoked_number(agent),
		"entry", own_roster_entry(agent), "release", agent->release);

	return versions_put(o, &agent->protocol);
}

bool hello_fits(struct peer *p, const json_t *said, char why[VERSIONS_TEXT])
{
	const struct versions *ours = &p->agent->protocol;
	const char *release = json_string_value(json_object_get(said, "release"));
	const json_int_t uptime = json_integer_value(json_object_get(said, "uptime"));

	p->speaks = versions_of(said);
	p->fit = versions_agree(ours, &p->speaks, &p->protocol);
	p->began = 0;
	if (uptime > 0 && (uint64_t)uptime < clock_ms())
		p->began = clock_ms() - uptime;
	snprintf(p->release, sizeof(p->release), "%s", release ?: "");
	versions_say(why, "protocol", p->agent->config->host, ours, p->host, &p->speaks);
	return p->fit == VERSIONS_FIT;
}

static void hello_seen(struct peer *from, const json_t *said)
{
	own_roster_seen(from, said);
	withdraw_seen(from, said);
}

/* ---- ours ---- */

/* The peer may not know this host yet: ask it for admission, once per connection. */
static void hello_on_joined(void *ctx, int status, const json_t *reply)
{
	const char *error = json_string_value(json_object_get(reply, "error"));
	struct peer *p = ctx;
	char why[160];

	if (!p->greeting)
		return;
	if (status == 200)
		error = own_roster_take(p->agent, reply);
	if (status == 409) {
		own_roster_take(p->agent, reply);
		own_roster_refused(p->agent);
	}
	if (status == 200 && !error) {
		hello_greet(p);
		return;
	}
	snprintf(why, sizeof(why), "it refused this node: %s", error ?: "no answer");
	h2_conn_close(p->conn, H2_END_REFUSED, why);
}

static void hello_refused(struct peer *p, const char *error)
{
	char why[160];

	snprintf(why, sizeof(why), "it refused this node: %s", error ?: "no reason given");
	if (!p->introduced && own_roster_may_ask(p->agent)) {
		p->introduced = true;
		if (!client_request(p->agent, p->conn, peer_host(p), "/v1/join",
				    own_roster_question(p->agent, p->agent->code, true),
				    HELLO_JOIN_MS, hello_on_joined, p))
			return;
	}
	h2_conn_close(p->conn, H2_END_REFUSED, why);
}

static void hello_on_answer(void *ctx, int status, const json_t *reply)
{
	const char *cluster = json_string_value(json_object_get(reply, "cluster"));
	const char *node = json_string_value(json_object_get(reply, "node"));
	const char *boot = json_string_value(json_object_get(reply, "boot_id"));
	char why[VERSIONS_TEXT];
	struct peer *p = ctx;
	json_int_t time;

	if (!p->greeting)
		return;
	/* Of a side that is too old or too new for ours; to be admitted would not help. */
	if (status == 403 && json_object_get(reply, "protocol") && !hello_fits(p, reply, why)) {
		h2_conn_close(p->conn, H2_END_REFUSED, why);
		return;
	}
	if (status == 403) {
		hello_refused(p, json_string_value(json_object_get(reply, "error")));
		return;
	}
	if (status != 200) {
		h2_conn_close(p->conn, H2_END_SILENT, "no valid answer to hello");
		return;
	}
	if (!cluster || strcmp(cluster, p->agent->config->cluster) || !node ||
	    strcmp(node, p->text)) {
		h2_conn_close(p->conn, H2_END_REFUSED,
			      "it belongs to another cluster, or is another node");
		return;
	}
	if (!hello_fits(p, reply, why)) {
		h2_conn_close(p->conn, H2_END_REFUSED, why);
		return;
	}
	p->capacity = json_integer_value(json_object_get(reply, "capacity"));
	time = json_integer_value(json_object_get(reply, "time"));
	/* what it says may be any number: the difference must be one, too */
	p->skew_ms = (time > 0 && time < HELLO_TIME_MAX ? time : 0) - clock_wall_ms();
	snprintf(p->users, sizeof(p->users), "%s",
		 json_string_value(json_object_get(reply, "users")) ?: "");
	snprintf(p->boot_id, sizeof(p->boot_id), "%s", boot ?: "");
	link_up(p);
	hello_seen(p, reply);
}

void hello_greet(struct peer *p)
{
	if (client_request(p->agent, p->conn, peer_host(p), "/v1/hello", hello_new(p->agent),
			   3 * p->agent->config->heartbeat, hello_on_answer, p))
		h2_conn_close(p->conn, H2_END_BROKEN, "out of memory");
}

/* ---- of others ---- */

int hello_check(struct agent *agent, const struct net_caller *caller, const json_t *said,
		struct peer **from, json_t **reply)
{
	const char *cluster = json_string_value(json_object_get(said, "cluster"));
	const char *node = json_string_value(json_object_get(said, "node"));
	char why[VERSIONS_TEXT];
	struct peer *p;

	if (!cluster || !node) {
		*reply = server_answer_error("cluster or node is missing");
		return 400;
	}
	/* With its signature a host is a member, even if nobody has told us yet. */
	own_roster_introduced(agent, caller->cn, said);
	p = caller->peer ?: peers_by_host(agent, caller->cn);
	if (!p) {
		if (log_allowed(&hello_refusals))
			log_warning("refused %s (CN %s): not in the roster, must join first",
				    caller->address, caller->cn);
		*reply = server_answer_error("not in the roster: join first");
		return 403;
	}
	if (strcmp(cluster, agent->config->cluster) || strcmp(node, peer_code(p))) {
		if (log_allowed(&hello_refusals))
			log_warning(
				"refused %s (CN %s): it is node %s of cluster %s, not node %s of "
				"cluster %s",
				p->address.text, peer_host(p), node, cluster, peer_code(p),
				agent->config->cluster);
		*reply = server_answer_error("wrong cluster, or not the node of the certificate");
		return 403;
	}
	if (!hello_fits(p, said, why)) {
		if (log_allowed(&hello_refusals))
			log_warning("refused %s (%s): %s", peer_code(p), peer_host(p), why);
		/* with ours, so that the other side sees it, too */
		*reply = versions_put(server_answer_error(why), &agent->protocol);
		return 403;
	}
	if (own_roster_has_moved(p, json_string_value(json_object_get(said, "address")))) {
		*reply = server_answer_error("address differs from the roster: join again");
		return 403;
	}
	hello_seen(p, said);
	*from = p;
	*reply = hello_new(agent);
	return *reply ? 200 : 500;
}
