// SPDX-License-Identifier: GPL-2.0-or-later
/* Who is let into the cluster, and the roster that all its agents share. */

#include "cluster/enrol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/event.h"
#include "base/log.h"
#include "cluster/address.h"
#include "cluster/hierarchy.h"
#include "cluster/report.h"
#include "cluster/roster.h"
#include "cluster/store.h"
#include "eh/topology.h"
#include "net/client.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/server.h"

#define ENROL_HOPS_MAX 4 /* a question that goes further goes round in circles */
#define ENROL_ASK_MS 2000
#define ENROL_SAVE_MS 200 /* changes often come together */
#define ENROL_NEWS_MS 50
#define ENROL_SPREAD 64 /* peers told at once; they tell others */
#define ENROL_REFUSED_MS \
	10000 /* a host that no member knows by its code waits so long for one that does */

static struct roster *enrol_roster;
static struct event *enrol_timer; /* saves */
static struct event *enrol_news;
static uint64_t enrol_refused_since; /* 0: not */
static struct log_limit enrol_log;
static bool enrol_pulling, enrol_leaving;

/* ---- what the roster says ---- */

/* Whether this host is still the node it runs as. */
static bool enrol_is_ours(void)
{
	const struct roster_entry *e = roster_by_code(enrol_roster, the_agent.self.index);
	const struct roster_entry *host;
	char code[EH_CODE_TEXT] = "none";

	if (e && !strcmp(e->host, the_agent.config->host))
		return true;
	host = roster_by_host(enrol_roster, the_agent.config->host);
	if (host && !host->left)
		eh_code_format(&the_agent.config->topology, (struct eh_code){ 0, host->index },
			       code);
	log_error(
		"node %s of the roster is %s, and this host %s has the code %s: %s", the_agent.code,
		e ? e->host : "nobody", the_agent.config->host, code,
		the_agent.config->njoin
			? "a new start joins anew"
			: "correct `node`, or join with --join; `state` is the file of the roster");
	return false;
}

static int enrol_apply(void)
{
	const struct roster_entry *e;
	struct peer *p, *next;
	int err;

	for (p = peer_next(NULL); p; p = next) {
		next = peer_next(p);
		if (!roster_by_code(enrol_roster, p->code.index))
			peer_forget(p, "it is no member any more");
	}
	for (size_t i = 0; (e = roster_at(enrol_roster, i)); i++) {
		if (!roster_is_member(enrol_roster, e))
			continue;
		err = peer_learn((struct eh_code){ 0, e->index }, e->host, &e->address);
		if (err)
			return err;
	}
	return 0;
}

static void enrol_on_save(evutil_socket_t fd, short what, void *arg)
{
	int err = store_write(the_agent.config, the_agent.config->host, enrol_roster);

	if (err)
		log_warning(
			"%s: the roster cannot be kept: %s; after a restart it is asked for anew",
			the_agent.config->state, strerror(-err));
}

static void enrol_changed(void)
{
	const struct timeval soon = { 0, ENROL_SAVE_MS * 1000 };

	/* that we are out of it is what we wanted */
	if (enrol_leaving)
		return;
	if (enrol_apply())
		log_error("no memory for all peers of the roster");
	if (!enrol_is_ours()) {
		agent_end(&the_agent, 1);
		return;
	}
	server_reload();
	/* what only the configuration says need not be kept */
	if (enrol_version() && !evtimer_pending(enrol_timer, NULL))
		evtimer_add(enrol_timer, &soon);
}

/* ---- exchange ---- */

uint64_t enrol_version(void)
{
	return enrol_roster ? roster_stamp(enrol_roster) : 0;
}

const char *enrol_take(const json_t *answer)
{
	const char *why;
	struct roster *theirs = roster_from_json(answer, &why);
	int changed;

	if (!theirs)
		return why;
	changed = roster_merge(enrol_roster, theirs);
	roster_free(theirs);
	if (changed == -EINVAL)
		return "its topology is another one";
	if (changed < 0)
		return "no memory";
	if (changed)
		enrol_changed();
	return NULL;
}

static void enrol_on_exchanged(void *ctx, int status, const json_t *reply)
{
	const struct peer *from = ctx;
	const char *why = NULL;

	if (status == 200)
		why = enrol_take(reply);
	if (why && log_allowed(&enrol_log))
		log_warning("%s (%s) sent a roster that is not usable: %s", from->text, from->host,
			    why);
}

/* Each has what the other lacks then, as after a partition. 0 or -ENOMEM. */
static int enrol_exchange(struct peer *with, client_reply_fn done)
{
	json_t *ours = roster_to_json(enrol_roster);

	return ours ? link_request(with, "/v1/roster", ours, ENROL_ASK_MS, done, with) : -ENOMEM;
}

static void enrol_on_pulled(void *ctx, int status, const json_t *reply)
{
	enrol_pulling = false;
	enrol_on_exchanged(ctx, status, reply);
}

void enrol_pull(struct peer *from)
{
	/* one at a time: who has a newer one still will say so again */
	if (!enrol_pulling && !from->self)
		enrol_pulling = !enrol_exchange(from, enrol_on_pulled);
}

/* What was decided here must not be lost with this node: those that it talks to hear of it at once. */
static void enrol_on_news(evutil_socket_t fd, short what, void *arg)
{
	unsigned int n = 0;
	struct peer *p;

	for (p = peer_next(NULL); p && n < ENROL_SPREAD; p = peer_next(p))
		if (!p->self && (p->up || p->said) && !enrol_exchange(p, enrol_on_exchanged))
			n++;
}

static void enrol_decided(void)
{
	const struct timeval soon = { 0, ENROL_NEWS_MS * 1000 };

	enrol_changed();
	if (!evtimer_pending(enrol_news, NULL))
		evtimer_add(enrol_news, &soon);
}

void enrol_seen(struct peer *from, const json_t *body)
{
	uint64_t version;

	if (!report_number(body, "roster", INT64_MAX, &version) && version > enrol_version())
		enrol_pull(from);
}

/* What configuration files say of an address may differ between nodes, and be right for each. */
bool enrol_has_moved(const struct peer *p, const char *address)
{
	const struct roster_entry *e = roster_by_code(enrol_roster, p->code.index);

	return address && e && e->version && strcmp(e->address.text, address);
}

json_t *enrol_on_roster(struct peer *from, const json_t *body, int *status)
{
	json_t *reply = roster_to_json(enrol_roster);

	if (!reply)
		*status = 503;
	return reply;
}

json_t *enrol_on_exchange(struct peer *from, const json_t *body, int *status)
{
	const char *why = enrol_take(body);

	if (!why)
		return enrol_on_roster(from, NULL, status);
	*status = 400;
	return json_pack("{s:s}", "error", why);
}

/* ---- asks that the top controller decides ---- */

/* NULL: not known yet. Who has not found the controllers above it is not the top for that. */
static struct peer *enrol_top(void)
{
	struct peer *top = hierarchy_top();

	return top->self && hierarchy_rank() < the_agent.config->topology.l ? NULL : top;
}

static void enrol_refuse(struct server_answer *to, int status, const char *why)
{
	server_answer(to, status, json_pack("{s:s}", "error", why));
}

struct enrol_question {
	struct server_answer *answer;
	struct peer *top;
};

static void enrol_on_passed(void *ctx, int status, const json_t *reply)
{
	struct enrol_question *q = ctx;
	const char *why = status == 200 ? enrol_take(reply) : NULL;
	char text[400];

	if (status && !why) {
		server_answer(q->answer, status, json_incref((json_t *)reply));
	} else {
		snprintf(text, sizeof(text), "the top controller %s (%s) gave no answer: %s",
			 q->top->text, q->top->host,
			 why		    ? why
			 : *q->top->trouble ? q->top->trouble
					    : "not in time");
		enrol_refuse(q->answer, 503, text);
	}
	free(q);
}

/* Passes a question on to the top controller; its answer is given to who asked. */
static void enrol_pass(struct peer *top, const char *path, const json_t *body, uint64_t hops,
		       struct server_answer *answer)
{
	struct enrol_question *q;
	json_t *copy;

	if (hops >= ENROL_HOPS_MAX) {
		enrol_refuse(answer, 503,
			     "the members do not agree on the top controller: ask again");
		return;
	}
	q = malloc(sizeof(*q));
	copy = json_copy((json_t *)body);
	if (!q || !copy || json_object_set_new(copy, "hops", json_integer(hops + 1)))
		goto no_memory;
	*q = (struct enrol_question){ answer, top };
	if (!link_request(top, path, copy, ENROL_ASK_MS, enrol_on_passed, q))
		return;
	copy = NULL;
no_memory:
	free(q);
	json_decref(copy);
	enrol_refuse(answer, 503, "no memory");
}

/* What joins and leaves have in common. False: refused. */
static bool enrol_check(struct peer *from, const json_t *body, struct server_answer *answer,
			const char **host, uint64_t *hops)
{
	const char *cluster = json_string_value(json_object_get(body, "cluster"));

	*host = json_string_value(json_object_get(body, "host"));
	*hops = 0;
	if (!cluster || !*host || !**host || strlen(*host) > ADDRESS_HOST_MAX ||
	    (json_object_get(body, "hops") && report_number(body, "hops", ENROL_HOPS_MAX, hops))) {
		enrol_refuse(answer, 400, "cluster, host or hops is missing or malformed");
		return false;
	}
	if (strcmp(cluster, the_agent.config->cluster)) {
		enrol_refuse(answer, 403, "this is another cluster");
		return false;
	}
	/* a member may pass on what another asked it; else each speaks for itself */
	if (*hops ? !from : strcmp(*host, server_answer_host(answer)) != 0) {
		if (log_allowed(&enrol_log))
			log_warning("refused %s (CN %s): it speaks for host %s",
				    from ? from->text : "a stranger", server_answer_host(answer),
				    *host);
		enrol_refuse(answer, 403, "the host is not the certificate's");
		return false;
	}
	return true;
}

/* Who runs with a code that it has not is shown the roster: one of the two may be outdated. */
static void enrol_refuse_join(int err, struct server_answer *answer)
{
	const char *why = err == -ENOSPC   ? "the cluster is full: no code is free"
			  : err == -EEXIST ? "its code is another host's here"
					   : "no memory";
	json_t *reply = err == -EEXIST ? roster_to_json(enrol_roster) : json_object();

	if (reply)
		json_object_set_new(reply, "error", json_string(why));
	server_answer(answer, err == -ENOMEM ? 503 : 409, reply);
}

static void enrol_decide_join(const char *host, const struct address *address, const uint32_t *wish,
			      bool runs, struct server_answer *answer)
{
	uint64_t before = enrol_version();
	char code[EH_CODE_TEXT];
	uint32_t index;
	json_t *reply;
	int err;

	err = roster_enter(enrol_roster, host, address, wish, runs, &index);
	if (err) {
		enrol_refuse_join(err, answer);
		return;
	}
	eh_code_format(&the_agent.config->topology, (struct eh_code){ 0, index }, code);
	if (enrol_version() != before) {
		log_info("%s (%s) joins as node %s", host, address->text, code);
		event_tell(&the_agent, "join", json_pack("{s:s,s:s}", "node", code, "host", host));
		enrol_decided();
	}
	reply = roster_to_json(enrol_roster);
	if (reply)
		json_object_set_new(reply, "code", json_string(code));
	server_answer(answer, reply ? 200 : 503, reply);
}

void enrol_on_join(struct peer *from, const json_t *body, struct server_answer *answer)
{
	const char *where = json_string_value(json_object_get(body, "address"));
	const char *code = json_string_value(json_object_get(body, "code"));
	struct peer *top = enrol_top();
	struct address address;
	struct eh_code wish;
	const char *host;
	uint64_t hops;

	if (!enrol_check(from, body, answer, &host, &hops))
		return;
	if (!where || address_parse(where, &address)) {
		enrol_refuse(answer, 400, "address is missing, or not ADDRESS:PORT");
		return;
	}
	if (code && (eh_code_parse(&the_agent.config->topology, code, &wish) || wish.level)) {
		enrol_refuse(answer, 400, "code is not a node's of this topology");
		return;
	}
	if (!top)
		enrol_refuse(answer, 503, "the top controller is not known yet: ask again");
	else if (top->self)
		enrol_decide_join(host, &address, code ? &wish.index : NULL,
				  code && json_is_true(json_object_get(body, "runs")), answer);
	else
		enrol_pass(top, "/v1/join", body, hops, answer);
}

void enrol_on_leave(struct peer *from, const json_t *body, struct server_answer *answer)
{
	struct peer *top = enrol_top();
	const char *host;
	uint64_t hops;
	int err;

	if (!enrol_check(from, body, answer, &host, &hops))
		return;
	/* the top that leaves has another member decide */
	if (top && !top->self && strcmp(top->host, host)) {
		enrol_pass(top, "/v1/leave", body, hops, answer);
		return;
	}
	err = roster_leave(enrol_roster, host);
	if (err == -ENOMEM) {
		enrol_refuse(answer, 503, "no memory");
		return;
	}
	if (!err) {
		log_info("%s has left the cluster", host);
		event_tell(&the_agent, "leave", json_pack("{s:s}", "host", host));
		enrol_decided();
	}
	server_answer(answer, 200, roster_to_json(enrol_roster));
}

/* ---- this host ---- */

bool enrol_may_ask(void)
{
	const struct roster_entry *e =
		enrol_roster ? roster_by_host(enrol_roster, the_agent.config->host) : NULL;

	return !enrol_leaving && (the_agent.config->njoin || (e && e->version));
}

void enrol_refused(void)
{
	uint64_t now = clock_ms();
	struct peer *p;

	/* others that do know it will tell those that do not */
	for (p = peer_next(NULL); p; p = peer_next(p)) {
		if (!p->up)
			continue;
		enrol_refused_since = 0;
		return;
	}
	if (!enrol_refused_since)
		enrol_refused_since = now;
	if (now - enrol_refused_since < ENROL_REFUSED_MS)
		return;
	log_error("no member knows this host %s as node %s any more: a new start joins anew",
		  the_agent.config->host, the_agent.code);
	agent_end(&the_agent, 1);
}

json_t *enrol_question(const char *code, bool runs)
{
	return json_pack("{s:s,s:s,s:s,s:s*,s:b}", "cluster", the_agent.config->cluster, "host",
			 the_agent.config->host, "address", the_agent.config->address.text, "code",
			 code, "runs", (int)runs);
}

static void (*enrol_left)(const char *why);

static void enrol_on_left(void *ctx, int status, const json_t *reply)
{
	const char *error = json_string_value(json_object_get(reply, "error"));
	const struct peer *to = ctx;
	char why[400];

	if (status != 200) {
		snprintf(why, sizeof(why), "%s (%s): %s", to->text, to->host,
			 error		? error
			 : *to->trouble ? to->trouble
					: "no answer");
		enrol_left(why);
		return;
	}
	store_remove(the_agent.config);
	enrol_left(NULL);
}

/* The lowest other that is up, else the lowest there is. */
static struct peer *enrol_someone(void)
{
	struct peer *p, *best = NULL;

	for (p = peer_next(NULL); p; p = peer_next(p))
		if (!p->self && (!best || (p->up && !best->up) ||
				 (p->up == best->up && p->code.index < best->code.index)))
			best = p;
	return best;
}

static void enrol_tell(struct peer *to)
{
	json_t *body = json_pack("{s:s,s:s}", "cluster", the_agent.config->cluster, "host",
				 the_agent.config->host);

	if (!body || link_request(to, "/v1/leave", body, 2 * ENROL_ASK_MS, enrol_on_left, to))
		enrol_left("no memory");
}

static void enrol_on_handed_over(void *ctx, int status, const json_t *reply)
{
	if (status == 200)
		enrol_tell(ctx);
	else
		enrol_on_left(ctx, status, reply);
}

void enrol_leave(void (*done)(const char *why))
{
	struct peer *top = enrol_top(), *other = enrol_someone();

	enrol_left = done;
	enrol_leaving = true;
	evtimer_del(enrol_timer);
	if (top && !top->self) {
		enrol_tell(top);
	} else if (!other) {
		store_remove(the_agent.config);
		done(NULL);
	} else if (enrol_exchange(other, enrol_on_handed_over)) {
		/* who decides in our place must know all that we decided */
		done("no memory");
	}
}

/* ---- set-up ---- */

static int enrol_add_configured(const struct config *c)
{
	for (size_t i = 0; i < c->npeers; i++) {
		const struct config_peer *p = &c->peers[i];
		struct roster_entry e = { .index = p->code.index, .address = p->address };
		const struct roster_entry *in;

		strcpy(e.host, p->host);
		if (roster_add(enrol_roster, &e) < 0)
			return -ENOMEM;
		in = roster_by_code(enrol_roster, p->code.index);
		if (!in || strcmp(in->host, p->host))
			log_warning("%s:%d: peer \"%s\": the roster says that this code is %s's",
				    c->file, p->line, p->text, in ? in->host : "nobody");
	}
	return 0;
}

int enrol_init(struct roster *roster)
{
	enrol_roster = roster ?: roster_new(&the_agent.config->topology);
	enrol_timer = evtimer_new(the_agent.base, enrol_on_save, NULL);
	enrol_news = evtimer_new(the_agent.base, enrol_on_news, NULL);
	if (!enrol_roster || !enrol_timer || !enrol_news ||
	    enrol_add_configured(the_agent.config) || enrol_apply()) {
		log_error("no memory for the roster");
		return -ENOMEM;
	}
	if (!enrol_is_ours())
		return -EEXIST;
	if (enrol_version())
		enrol_on_save(-1, 0, NULL);
	return 0;
}

void enrol_reload(const struct config *old)
{
	for (size_t i = 0; i < old->npeers; i++)
		roster_drop(enrol_roster, old->peers[i].code.index);
	if (enrol_add_configured(the_agent.config))
		log_error("no memory for new peers: reload once more later");
	enrol_changed();
}

void enrol_exit(void)
{
	if (enrol_timer && evtimer_pending(enrol_timer, NULL))
		enrol_on_save(-1, 0, NULL);
	if (enrol_timer)
		event_free(enrol_timer);
	roster_free(enrol_roster);
	if (enrol_news)
		event_free(enrol_news);
	enrol_timer = enrol_news = NULL;
	enrol_roster = NULL;
}
