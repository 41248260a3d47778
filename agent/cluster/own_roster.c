// SPDX-License-Identifier: GPL-2.0-or-later
#include "cluster/own_roster.h"

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
#include "cluster/report.h"
#include "cluster/roster_json.h"
#include "cluster/store.h"
#include "cluster/versions.h"
#include "cluster/vouch.h"
#include "eh/topology.h"
#include "net/client.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/peers.h"
#include "net/server.h"

#define OWN_ROSTER_ASK_MS 2000
#define OWN_ROSTER_SAVE_MS 200 /* several changes often come together */
#define OWN_ROSTER_NEWS_MS 50
#define OWN_ROSTER_GAIN_MS 60000 /* in which ROSTER_STEP_MAX changes of others are taken in */
#define OWN_ROSTER_SPREAD 64 /* peers told at once; they tell others */
/* How long a host that no member knows by its code waits for one that does. */
#define OWN_ROSTER_REFUSED_MS 10000
/* How long codes are held for hosts that have not signed yet, after the last one was given. */
#define OWN_ROSTER_HOLD_MS 60000
/* Hellos in a second whose signature is looked at in vain: a stranger says what it likes. */
#define OWN_ROSTER_VAIN 50

struct own_roster {
	struct roster *roster;
	struct roster *held; /* given out as the top controller, and not signed yet */
	uint64_t held_since; /* ms, of the last one */
	uint64_t vain_since; /* ms */
	unsigned int vain; /* hellos since then that were not signed by their sender */
	struct event *timer; /* saves the roster */
	struct event *news;
	uint64_t refused_since; /* ms; 0: not refused */
	uint64_t gained, gained_since; /* changes of others that were taken in, since (ms) */
	bool pulling, leaving;
	own_roster_left_fn left;
	const struct own_roster_ops *ops;
};

static struct log_limit own_roster_log;

/* ---- what the roster says ---- */

/* Whether the roster still gives this host the code that it runs with. */
static bool own_roster_is_ours(struct agent *agent)
{
	const struct roster_entry *e = roster_by_code(agent->own_roster->roster, agent->self.index);
	const struct roster_entry *host;
	char code[EH_CODE_TEXT] = "none";

	if (e && !strcmp(e->host, agent->config->host))
		return true;
	host = roster_by_host(agent->own_roster->roster, agent->config->host);
	if (host && !host->left)
		eh_code_format(&agent->config->topology, (struct eh_code){ 0, host->index }, code);
	log_error("the roster gives code %s to %s; this host, %s, has code %s: %s", agent->code,
		  e ? e->host : "no host", agent->config->host, code,
		  agent->config->njoin
			  ? "restart the agent to join again"
			  : "correct `node`, or join with --join; the roster is kept in the file "
			    "that `state` names");
	return false;
}

static int own_roster_apply(struct agent *agent)
{
	const struct roster_entry *e;
	struct peer *p, *next;
	int err;

	for (p = peers_next(agent, NULL); p; p = next) {
		next = peers_next(agent, p);
		if (!roster_by_code(agent->own_roster->roster, p->code.index))
			peers_forget(p, "no longer a member");
	}
	for (size_t i = 0; (e = roster_at(agent->own_roster->roster, i)); i++) {
		if (!roster_is_member(agent->own_roster->roster, e))
			continue;
		err = peers_learn(agent, (struct eh_code){ 0, e->index }, e->host, &e->address);
		if (err)
			return err;
	}
	return 0;
}

static void own_roster_on_save(evutil_socket_t fd, short what, void *arg)
{
	struct agent *agent = arg;

	store_write(agent, agent->own_roster->roster);
}

static void own_roster_changed(struct agent *agent)
{
	/* a large file is written less often */
	const unsigned int ms = OWN_ROSTER_SAVE_MS + roster_count(agent->own_roster->roster);

	/* This host is meant to be absent from it. */
	if (agent->own_roster->leaving)
		return;
	if (own_roster_apply(agent))
		log_error("out of memory: peers of the roster left out");
	if (!own_roster_is_ours(agent)) {
		agent_end(agent, 1);
		return;
	}
	server_reload(agent);
	/* A roster that only repeats the configuration need not be saved. */
	if (own_roster_version(agent) && !evtimer_pending(agent->own_roster->timer, NULL))
		clock_arm(agent->own_roster->timer, ms);
}

/* ---- exchange ---- */

uint64_t own_roster_version(struct agent *agent)
{
	return agent->own_roster ? roster_stamp(agent->own_roster->roster) : 0;
}

/* Nobody uses up the versions: at this rate they last for two years. */
static bool own_roster_may_gain(struct own_roster *e, uint64_t ahead)
{
	const uint64_t now = clock_ms();

	if (now - e->gained_since >= OWN_ROSTER_GAIN_MS) {
		e->gained_since = now;
		e->gained = 0;
	}
	return e->gained + ahead <= ROSTER_STEP_MAX;
}

struct roster *own_roster_held(struct agent *agent)
{
	struct own_roster *e = agent->own_roster;
	const uint64_t now = clock_ms();

	if (e->held && now - e->held_since >= OWN_ROSTER_HOLD_MS) {
		roster_free(e->held);
		e->held = NULL;
	}
	e->held_since = now;
	if (!e->held)
		e->held = roster_new(roster_topology(e->roster));
	return e->held;
}

struct roster *own_roster(const struct agent *agent)
{
	return agent->own_roster->roster;
}

struct peer *own_roster_top(struct agent *agent)
{
	return agent->own_roster->ops->top(agent);
}

/* Of what was found to hold. NULL, or what is wrong. */
static const char *own_roster_merge(struct agent *agent, const struct roster *theirs, bool *changed)
{
	struct own_roster *e = agent->own_roster;
	uint64_t ahead = roster_ahead(e->roster, theirs);
	int merged = own_roster_may_gain(e, ahead) ? roster_merge(e->roster, theirs) : -ERANGE;

	*changed = merged > 0;
	if (merged == -ERANGE)
		return "it is too many changes ahead of ours";
	if (merged == -EINVAL)
		return "its topology differs";
	if (merged < 0)
		return "out of memory";
	e->gained += ahead;
	if (merged)
		own_roster_changed(agent);
	return NULL;
}

const char *own_roster_hear(struct agent *agent, struct peer *from, const json_t *body)
{
	const char *why;
	struct roster *theirs = roster_from_json(body, &why);
	bool changed;

	if (!theirs)
		return why;
	vouch_filter(agent, agent->own_roster->roster, theirs, from);
	why = own_roster_merge(agent, theirs, &changed);
	roster_free(theirs);
	return why;
}

/* The top controller has decided where this host is: it signs that. */
static void own_roster_adopt(struct agent *agent, const json_t *entry)
{
	const struct roster_entry *own =
		roster_by_host(agent->own_roster->roster, agent->config->host);
	const uint64_t most = roster_changes(agent->own_roster->roster) + ROSTER_STEP_MAX;
	struct roster_entry e;

	if (roster_entry_from_json(&agent->config->topology, entry, &e))
		return;
	if (!strcmp(e.host, agent->config->host) && e.index == agent->self.index && !e.left &&
	    !strcmp(e.address.text, agent->config->address.text) && e.version <= most &&
	    (!own || own->version < e.version)) {
		json_t *grant = e.proof;

		if (!vouch_sign(agent, &agent->config->topology, &e) &&
		    roster_add(agent->own_roster->roster, &e) > 0)
			own_roster_decided(agent);
		json_decref(grant);
	}
	json_decref(e.proof);
}

const char *own_roster_take(struct agent *agent, const json_t *answer)
{
	const char *why = own_roster_hear(agent, NULL, answer);

	if (!why)
		own_roster_adopt(agent, json_object_get(answer, "entry"));
	return why;
}

static void own_roster_on_pulled(struct peer *from, bool reached)
{
	from->agent->own_roster->pulling = false;
}

/* Exchanges rosters with a peer that has a newer one. */
static void own_roster_pull(struct peer *from)
{
	struct own_roster *e = from->agent->own_roster;

	/* One at a time: a peer with a newer roster will say so again. */
	if (!e->pulling && !from->self)
		e->pulling = !e->ops->exchange(from, own_roster_on_pulled);
}

/* Decisions made here must not be lost with this node: its peers are told at once. */
static void own_roster_on_news(evutil_socket_t fd, short what, void *arg)
{
	struct agent *agent = arg;
	unsigned int n = 0;
	struct peer *p;

	for (p = peers_next(agent, NULL); p && n < OWN_ROSTER_SPREAD; p = peers_next(agent, p))
		if (!p->self && (p->up || p->said) && !agent->own_roster->ops->exchange(p, NULL))
			n++;
}

void own_roster_decided(struct agent *agent)
{
	own_roster_changed(agent);
	if (!evtimer_pending(agent->own_roster->news, NULL))
		clock_arm(agent->own_roster->news, OWN_ROSTER_NEWS_MS);
}

static bool own_roster_is_vain(struct own_roster *e)
{
	const uint64_t now = clock_ms();

	if (now - e->vain_since >= 1000) {
		e->vain_since = now;
		e->vain = 0;
	}
	return e->vain >= OWN_ROSTER_VAIN;
}

/* A code that another host has is decided in exchanges only, where all see both, or was here. */
static bool own_roster_is_news(const struct roster *ours, const struct roster *held,
			       const struct roster_entry *e, const char *cn)
{
	const struct roster_entry *h = held ? roster_by_code(held, e->index) : NULL;
	const struct roster_entry *has = roster_by_code(ours, e->index);

	if (strcmp(e->host, cn) != 0 || e->left || !roster_wins(ours, e))
		return false;
	if (!has || (h && !strcmp(h->host, cn) && h->version == e->version))
		return true;
	/* Configured addresses may differ, as above. */
	return !strcmp(has->host, e->host) &&
	       (e->version || !strcmp(has->address.text, e->address.text));
}

static void own_roster_learn(struct agent *agent, const struct roster_entry *e)
{
	struct roster *one = roster_new(&agent->config->topology);
	bool changed = false;
	struct peer *top;

	if (one && roster_add(one, e) > 0)
		own_roster_merge(agent, one, &changed);
	roster_free(one);
	top = changed ? own_roster_top(agent) : NULL;
	if (top && top->self)
		own_roster_decided(agent);
}

void own_roster_introduced(struct agent *agent, const char *cn, const json_t *body)
{
	const json_t *entry = json_object_get(body, "entry");
	struct roster_entry e;
	const char *why;

	if (!entry || roster_entry_from_json(&agent->config->topology, entry, &e))
		return;
	if (own_roster_is_news(agent->own_roster->roster, agent->own_roster->held, &e, cn) &&
	    !own_roster_is_vain(agent->own_roster)) {
		why = vouch_check(agent, &agent->config->topology, &e);
		agent->own_roster->vain += why != NULL;
		if (!why)
			own_roster_learn(agent, &e);
		else if (log_allowed(&own_roster_log))
			log_warning("a hello of %s: its entry of the roster is ignored: %s", cn,
				    why);
	}
	json_decref(e.proof);
}

json_t *own_roster_entry(struct agent *agent)
{
	const struct roster_entry *e =
		agent->own_roster ? roster_by_host(agent->own_roster->roster, agent->config->host)
				  : NULL;

	return e && e->proof ? roster_entry_to_json(&agent->config->topology, e) : NULL;
}

void own_roster_seen(struct peer *from, const json_t *body)
{
	struct agent *agent = from->agent;
	uint64_t version;

	own_roster_introduced(agent, from->host, body);
	if (!report_number(body, "roster", INT64_MAX, &version) &&
	    version > own_roster_version(agent))
		own_roster_pull(from);
}

static bool own_roster_configures(const struct config *c, const struct peer *p)
{
	for (size_t i = 0; i < c->npeers; i++)
		if (c->peers[i].code.index == p->code.index)
			return true;
	return false;
}

/*
 * Configured addresses may differ between nodes and still be right for each. One that is not of our
 * configuration is known from its host, as what that has signed.
 */
bool own_roster_has_moved(const struct peer *p, const char *address)
{
	const struct roster_entry *e = roster_by_code(p->agent->own_roster->roster, p->code.index);

	return address && e &&
	       (e->version || (e->proof && !own_roster_configures(p->agent->config, p))) &&
	       strcmp(e->address.text, address);
}

/* ---- this host ---- */

bool own_roster_may_ask(struct agent *agent)
{
	const struct roster_entry *e =
		roster_by_host(agent->own_roster->roster, agent->config->host);

	return !agent->own_roster->leaving && (agent->config->njoin || (e && e->version));
}

void own_roster_refused(struct agent *agent)
{
	uint64_t now = clock_ms();
	struct peer *p;

	/* Members that know this host will tell those that do not. */
	for (p = peers_next(agent, NULL); p; p = peers_next(agent, p)) {
		if (!p->up)
			continue;
		agent->own_roster->refused_since = 0;
		return;
	}
	if (!agent->own_roster->refused_since)
		agent->own_roster->refused_since = now;
	if (now - agent->own_roster->refused_since < OWN_ROSTER_REFUSED_MS)
		return;
	log_error("no member knows this host, %s, as node %s any more: restart the agent to join "
		  "again",
		  agent->config->host, agent->code);
	agent_end(agent, 1);
}

json_t *own_roster_question(struct agent *agent, const char *code, bool runs)
{
	json_t *o = json_pack("{s:s,s:s,s:s,s:s*,s:b}", "cluster", agent->config->cluster, "host",
			      agent->config->host, "address", agent->config->address.text, "code",
			      code, "runs", (int)runs);

	return versions_put(o, &agent->protocol);
}

static void own_roster_on_left(void *ctx, int status, const json_t *reply)
{
	const char *error = json_string_value(json_object_get(reply, "error"));
	const struct peer *to = ctx;
	struct agent *agent = to->agent;
	char why[400];

	if (status != 200) {
		snprintf(why, sizeof(why), "%s (%s): %s", to->text, to->host,
			 error		? error
			 : *to->trouble ? to->trouble
					: "no answer");
		agent->own_roster->left(agent, why);
		return;
	}
	store_remove(agent);
	agent->own_roster->left(agent, NULL);
}

/* The other member with the lowest code, one that is up if possible. */
static struct peer *own_roster_someone(struct agent *agent)
{
	struct peer *p, *best = NULL;

	for (p = peers_next(agent, NULL); p; p = peers_next(agent, p))
		if (!p->self && (!best || (p->up && !best->up) ||
				 (p->up == best->up && p->code.index < best->code.index)))
			best = p;
	return best;
}

/* Nobody else can say that this host leaves: it signs that. NULL: no memory. */
static json_t *own_roster_last_word(struct agent *agent)
{
	struct roster_entry e;
	json_t *o = NULL;

	if (roster_leaving(agent->own_roster->roster, agent->config->host, &e))
		return json_null();
	if (!vouch_sign(agent, &agent->config->topology, &e))
		o = roster_entry_to_json(&agent->config->topology, &e);
	json_decref(e.proof);
	return o;
}

static void own_roster_tell(struct peer *to)
{
	struct agent *agent = to->agent;
	json_t *body = json_pack("{s:s,s:s,s:o}", "cluster", agent->config->cluster, "host",
				 agent->config->host, "entry", own_roster_last_word(agent));

	if (!body ||
	    link_request(to, "/v1/leave", body, 2 * OWN_ROSTER_ASK_MS, own_roster_on_left, to))
		agent->own_roster->left(agent, "out of memory");
}

static void own_roster_on_handed_over(struct peer *to, bool reached)
{
	if (reached)
		own_roster_tell(to);
	else
		own_roster_on_left(to, 0, NULL);
}

void own_roster_leave(struct agent *agent, own_roster_left_fn done)
{
	struct peer *top = own_roster_top(agent), *other = own_roster_someone(agent);

	agent->own_roster->left = done;
	agent->own_roster->leaving = true;
	evtimer_del(agent->own_roster->timer);
	if (top && !top->self) {
		own_roster_tell(top);
	} else if (!other) {
		store_remove(agent);
		done(agent, NULL);
	} else if (agent->own_roster->ops->exchange(other, own_roster_on_handed_over)) {
		/* The member that decides for us must first know all that we decided. */
		done(agent, "out of memory");
	}
}

/* ---- set-up ---- */

static int own_roster_add_configured(struct agent *agent)
{
	const struct config *c = agent->config;

	for (size_t i = 0; i < c->npeers; i++) {
		const struct config_peer *p = &c->peers[i];
		struct roster_entry e = { .index = p->code.index, .address = p->address };
		const struct roster_entry *in;

		strcpy(e.host, p->host);
		if (roster_add(agent->own_roster->roster, &e) < 0)
			return -ENOMEM;
		in = roster_by_code(agent->own_roster->roster, p->code.index);
		if (!in || strcmp(in->host, p->host))
			log_warning("%s:%d: peer \"%s\": this code belongs to %s in the roster",
				    c->file, p->line, p->text, in ? in->host : "no host");
	}
	return 0;
}

int own_roster_init(struct agent *agent, const struct own_roster_ops *ops, struct roster *roster)
{
	struct own_roster *e = calloc(1, sizeof(*e));

	agent->own_roster = e;
	if (!e) {
		roster_free(roster);
		return -ENOMEM;
	}
	e->ops = ops;
	e->roster = roster ?: roster_new(&agent->config->topology);
	e->timer = evtimer_new(agent->base, own_roster_on_save, agent);
	e->news = evtimer_new(agent->base, own_roster_on_news, agent);
	if (!e->roster || !e->timer || !e->news || own_roster_add_configured(agent) ||
	    own_roster_apply(agent)) {
		log_error("out of memory for the roster");
		return -ENOMEM;
	}
	if (!own_roster_is_ours(agent))
		return -EEXIST;
	if (vouch_own(agent, e->roster) < 0)
		log_error("cannot sign this host's entry with the key %s: others will not believe "
			  "it",
			  agent->config->key);
	if (own_roster_version(agent))
		own_roster_on_save(-1, 0, agent);
	return 0;
}

void own_roster_renewed(struct agent *agent)
{
	int made = agent->own_roster ? vouch_own(agent, agent->own_roster->roster) : 0;

	if (made > 0)
		own_roster_decided(agent);
	else if (made < 0)
		log_error("cannot sign with the key of the new certificate");
}

/* As it was: what it has signed stays with it. */
static bool own_roster_is_configured(const struct config *c, const struct config_peer *was)
{
	for (size_t i = 0; i < c->npeers; i++)
		if (c->peers[i].code.index == was->code.index &&
		    !strcmp(c->peers[i].host, was->host) &&
		    !strcmp(c->peers[i].address.text, was->address.text))
			return true;
	return false;
}

void own_roster_reload(struct agent *agent, const struct config *old)
{
	for (size_t i = 0; i < old->npeers; i++)
		if (!own_roster_is_configured(agent->config, &old->peers[i]))
			roster_drop(agent->own_roster->roster, old->peers[i].code.index);
	if (own_roster_add_configured(agent))
		log_error("out of memory: new peers not added; reload again later");
	if (vouch_own(agent, agent->own_roster->roster) < 0)
		log_error("cannot sign with the key %s", agent->config->key);
	own_roster_changed(agent);
}

void own_roster_exit(struct agent *agent)
{
	struct own_roster *e = agent->own_roster;

	if (!e)
		return;
	if (e->timer && evtimer_pending(e->timer, NULL))
		own_roster_on_save(-1, 0, agent);
	agent_free_event(&e->timer);
	agent_free_event(&e->news);
	roster_free(e->roster);
	roster_free(e->held);
	free(e);
	agent->own_roster = NULL;
}
