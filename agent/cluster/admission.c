// SPDX-License-Identifier: GPL-2.0-or-later
/* Joins and leaves: any member takes the request, the top controller decides it. */
#include "cluster/admission.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>

#include "base/agent.h"
#include "base/config.h"
#include "base/event.h"
#include "base/log.h"
#include "cluster/address.h"
#include "cluster/own_roster.h"
#include "cluster/lapse.h"
#include "cluster/report.h"
#include "cluster/roster.h"
#include "cluster/roster_json.h"
#include "cluster/versions.h"
#include "cluster/vouch.h"
#include "eh/topology.h"
#include "net/client.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/server.h"

#define ADMISSION_HOPS_MAX 4 /* an ask that goes further goes in circles */
#define ADMISSION_ASK_MS 2000

static struct log_limit admission_log;

struct admission_question {
	struct agent *agent;
	struct server_answer *answer;
	struct peer *top;
};

static void admission_on_passed(void *ctx, int status, const json_t *reply)
{
	struct admission_question *q = ctx;
	struct agent *agent = q->agent;
	const char *why = status == 200 ? own_roster_take(agent, reply) : NULL;
	char text[400];

	if (status && !why) {
		server_answer(q->answer, status, json_incref((json_t *)reply));
	} else {
		snprintf(text, sizeof(text), "no answer from the top controller %s (%s): %s",
			 q->top->text, q->top->host,
			 why		    ? why
			 : *q->top->trouble ? q->top->trouble
					    : "timed out");
		server_refuse(q->answer, 503, text);
	}
	free(q);
}

/* Passes a request on to the top controller, whose answer goes back to the requester. */
static void admission_pass(struct peer *top, const char *path, const json_t *body, uint64_t hops,
			   struct server_answer *answer)
{
	struct admission_question *q;
	json_t *copy;

	if (hops >= ADMISSION_HOPS_MAX) {
		server_refuse(answer, 503,
			      "the members do not agree on the top controller: try again");
		return;
	}
	q = malloc(sizeof(*q));
	copy = json_copy((json_t *)body);
	if (!q || !copy || json_object_set_new(copy, "hops", json_integer(hops + 1)))
		goto no_memory;
	*q = (struct admission_question){ top->agent, answer, top };
	if (!link_request(top, path, copy, ADMISSION_ASK_MS, admission_on_passed, q))
		return;
	copy = NULL;
no_memory:
	free(q);
	json_decref(copy);
	server_refuse(answer, 503, "out of memory");
}

/* Checks common to joins and leaves. False: refused. */
static bool admission_check(struct agent *agent, struct peer *from, const json_t *body,
			    struct server_answer *answer, const char **host, uint64_t *hops)
{
	const char *cluster = json_string_value(json_object_get(body, "cluster"));

	*host = json_string_value(json_object_get(body, "host"));
	*hops = 0;
	if (!cluster || !*host || !**host || strlen(*host) > ADDRESS_HOST_MAX ||
	    (json_object_get(body, "hops") &&
	     report_number(body, "hops", ADMISSION_HOPS_MAX, hops))) {
		server_refuse(answer, 400, "cluster, host or hops is missing or malformed");
		return false;
	}
	if (strcmp(cluster, agent->config->cluster)) {
		server_refuse(answer, 403, "the cluster name differs");
		return false;
	}
	/* Members may pass on requests of others; without hops a host speaks for itself. */
	if (*hops ? !from : strcmp(*host, server_answer_host(answer)) != 0) {
		if (log_allowed(&admission_log))
			log_warning("refused %s (CN %s): it asked on behalf of host %s",
				    from ? from->text : "a stranger", server_answer_host(answer),
				    *host);
		server_refuse(answer, 403, "the host is not the CN of the certificate");
		return false;
	}
	return true;
}

/* A host that runs with another host's code gets the roster: one of the two may be outdated. */
static void admission_refuse_join(struct agent *agent, int err, struct server_answer *answer)
{
	const char *why = err == -ENOSPC
				  ? "the cluster is full: no free code; `ehctl leave` frees that "
				    "of a host, and `ehctl revoke NODE` on the authority's "
				    "host that of one which never comes back"
			  : err == -EEXIST ? "its code belongs to another host"
			  : err == -ERANGE ? "the roster's version is at its limit"
					   : "out of memory";
	json_t *reply = err == -EEXIST ? vouch_json(own_roster(agent)) : json_object();

	if (reply)
		json_object_set_new(reply, "error", json_string(why));
	server_answer(answer, err == -ENOMEM || err == -ERANGE ? 503 : 409, reply);
}

/* The entry that the host is to sign: one that is held for it, or one that it has signed before. NULL: no memory. */
static const struct roster_entry *admission_given(struct agent *agent, struct roster *held,
						  const char *host, uint32_t index)
{
	const struct roster_entry *h = roster_by_host(held, host);
	const struct roster_entry *has = roster_by_host(own_roster(agent), host);
	json_t *grant;

	if (!h || h->index != index || (has && has->version >= h->version))
		return has;
	if (h->proof)
		return h;
	grant = vouch_grant(agent, roster_topology(held), h);
	roster_prove(held, index, grant);
	json_decref(grant);
	return grant ? h : NULL;
}

/* No code is free: perhaps that of a host that is dead. -ENOSPC: none. */
static int admission_take_over(struct agent *agent, struct roster *held, const char *host,
			       const struct address *address, uint32_t *index)
{
	struct peer *dead = lapse_find(agent, held, host);
	int err;

	if (!dead)
		return -ENOSPC;
	*index = dead->code.index;
	err = roster_pass_on(own_roster(agent), held, host, address, *index);
	if (!err)
		log_warning("%s gets code %s of %s, which has not been seen for %.1f days", host,
			    dead->text, dead->host, lapse_days(dead));
	return err;
}

static void admission_decide(struct agent *agent, const char *host, const struct address *address,
			     const uint32_t *wish, bool runs, struct server_answer *answer)
{
	struct roster *held = own_roster_held(agent);
	uint64_t before = held ? roster_stamp(held) : 0;
	const struct roster_entry *given;
	char code[EH_CODE_TEXT];
	uint32_t index;
	json_t *reply;
	int err;

	err = held ? roster_enter(own_roster(agent), held, host, address, wish, runs, &index)
		   : -ENOMEM;
	if (err == -ENOSPC)
		err = admission_take_over(agent, held, host, address, &index);
	given = err ? NULL : admission_given(agent, held, host, index);
	if (err || !given) {
		admission_refuse_join(agent, err ?: -ENOMEM, answer);
		return;
	}
	eh_code_format(&agent->config->topology, (struct eh_code){ 0, index }, code);
	if (roster_stamp(held) != before) {
		log_info("%s (%s) joins as node %s", host, address->text, code);
		event_tell(agent, "join", json_pack("{s:s,s:s}", "node", code, "host", host));
	}
	reply = vouch_json(own_roster(agent));
	if (reply) {
		json_object_set_new(reply, "code", json_string(code));
		json_object_set_new(reply, "entry",
				    roster_entry_to_json(&agent->config->topology, given));
	}
	server_answer(answer, reply ? 200 : 503, reply);
}

void admission_on_join(struct agent *agent, struct peer *from, const json_t *body,
		       struct server_answer *answer)
{
	const char *where = json_string_value(json_object_get(body, "address"));
	const char *code = json_string_value(json_object_get(body, "code"));
	struct peer *top = own_roster_top(agent);
	char why[VERSIONS_TEXT];
	struct versions theirs;
	struct address address;
	struct eh_code wish;
	const char *host;
	uint64_t hops;

	if (!admission_check(agent, from, body, answer, &host, &hops))
		return;
	theirs = versions_of(body);
	if (*versions_say(why, "protocol", agent->config->host, &agent->protocol, host, &theirs)) {
		if (log_allowed(&admission_log))
			log_warning("%s may not join: %s", host, why);
		server_refuse(answer, 403, why);
		return;
	}
	if (!where || address_parse(where, &address)) {
		server_refuse(answer, 400, "address is missing, or not ADDRESS:PORT");
		return;
	}
	if (code && (eh_code_parse(&agent->config->topology, code, &wish) || wish.level)) {
		server_refuse(answer, 400, "code is not a node code of this topology");
		return;
	}
	if (!top)
		server_refuse(answer, 503, "the top controller is not known yet: try again");
	else if (top->self)
		admission_decide(agent, host, &address, code ? &wish.index : NULL,
				 code && json_is_true(json_object_get(body, "runs")), answer);
	else
		admission_pass(top, "/v1/join", body, hops, answer);
}

/* NULL, or why this is not the host's word that it leaves. */
static const char *admission_let_go(struct agent *agent, const char *host, const json_t *entry,
				    bool *left)
{
	struct roster *r = own_roster(agent);
	const struct roster_entry *had = roster_by_host(r, host);
	const char *why = "the host has not signed that it leaves";
	struct roster_entry e;
	int err;

	*left = false;
	if (!had || had->left)
		return NULL;
	if (!entry || roster_entry_from_json(&agent->config->topology, entry, &e))
		return why;
	if (!strcmp(e.host, host) && e.left && e.index == had->index)
		why = e.version > had->version && e.version <= roster_changes(r) + ROSTER_STEP_MAX
			      ? vouch_check(agent, roster_topology(r), &e)
			      : "its version is not the next one";
	err = why ? 0 : roster_add(r, &e);
	*left = err > 0;
	json_decref(e.proof);
	return err < 0 ? "out of memory" : why;
}

void admission_on_leave(struct agent *agent, struct peer *from, const json_t *body,
			struct server_answer *answer)
{
	struct peer *top = own_roster_top(agent);
	const char *host, *why;
	uint64_t hops;
	bool left;

	if (!admission_check(agent, from, body, answer, &host, &hops))
		return;
	/* Nobody can prove that a host has asked for this: it says so itself, to who decides. */
	if (hops) {
		server_refuse(answer, 403, "a host leaves by its own word only");
		return;
	}
	/* When the top controller leaves, another member decides. */
	if (top && !top->self && strcmp(top->host, host)) {
		server_refuse(answer, 503,
			      "another member decides, as the top controller: try again");
		return;
	}
	why = admission_let_go(agent, host, json_object_get(body, "entry"), &left);
	if (why) {
		server_refuse(answer, 400, why);
		return;
	}
	if (left) {
		log_info("%s left the cluster", host);
		event_tell(agent, "leave", json_pack("{s:s}", "host", host));
		own_roster_decided(agent);
	}
	server_answer(answer, 200, vouch_json(own_roster(agent)));
}
