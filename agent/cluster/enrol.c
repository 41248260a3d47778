// SPDX-License-Identifier: GPL-2.0-or-later
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
#include "cluster/report.h"
#include "cluster/roster.h"
#include "cluster/store.h"
#include "eh/topology.h"
#include "net/client.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/peers.h"
#include "net/server.h"

#define ENROL_ASK_MS 2000
#define ENROL_SAVE_MS 200 /* several changes often come together */
#define ENROL_NEWS_MS 50
#define ENROL_GAIN_MS 60000 /* in which ROSTER_STEP_MAX changes of others are taken in */
#define ENROL_SPREAD 64 /* peers told at once; they tell others */
/* How long a host that no member knows by its code waits for one that does. */
#define ENROL_REFUSED_MS 10000

struct enrol {
	struct roster *roster;
	struct event *timer; /* saves the roster */
	struct event *news;
	uint64_t refused_since; /* ms; 0: not refused */
	uint64_t gained, gained_since; /* changes of others that were taken in, since (ms) */
	bool pulling, leaving;
	enrol_left_fn left;
	const struct enrol_ops *ops;
};

static struct log_limit enrol_log;

/* ---- what the roster says ---- */

/* Whether the roster still gives this host the code that it runs with. */
static bool enrol_is_ours(struct agent *agent)
{
	const struct roster_entry *e = roster_by_code(agent->enrol->roster, agent->self.index);
	const struct roster_entry *host;
	char code[EH_CODE_TEXT] = "none";

	if (e && !strcmp(e->host, agent->config->host))
		return true;
	host = roster_by_host(agent->enrol->roster, agent->config->host);
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

static int enrol_apply(struct agent *agent)
{
	const struct roster_entry *e;
	struct peer *p, *next;
	int err;

	for (p = peers_next(agent, NULL); p; p = next) {
		next = peers_next(agent, p);
		if (!roster_by_code(agent->enrol->roster, p->code.index))
			peers_forget(p, "no longer a member");
	}
	for (size_t i = 0; (e = roster_at(agent->enrol->roster, i)); i++) {
		if (!roster_is_member(agent->enrol->roster, e))
			continue;
		err = peers_learn(agent, (struct eh_code){ 0, e->index }, e->host, &e->address);
		if (err)
			return err;
	}
	return 0;
}

static void enrol_on_save(evutil_socket_t fd, short what, void *arg)
{
	struct agent *agent = arg;
	int err = store_write(agent->config, agent->config->host, agent->enrol->roster);

	if (err)
		log_warning("%s: cannot save the roster: %s; after a restart it is requested again",
			    agent->config->state, strerror(-err));
}

static void enrol_changed(struct agent *agent)
{
	const struct timeval soon = { 0, ENROL_SAVE_MS * 1000 };

	/* This host is meant to be absent from it. */
	if (agent->enrol->leaving)
		return;
	if (enrol_apply(agent))
		log_error("out of memory: peers of the roster left out");
	if (!enrol_is_ours(agent)) {
		agent_end(agent, 1);
		return;
	}
	server_reload(agent);
	/* A roster that only repeats the configuration need not be saved. */
	if (enrol_version(agent) && !evtimer_pending(agent->enrol->timer, NULL))
		evtimer_add(agent->enrol->timer, &soon);
}

/* ---- exchange ---- */

uint64_t enrol_version(struct agent *agent)
{
	return agent->enrol ? roster_stamp(agent->enrol->roster) : 0;
}

/* Nobody uses up the versions: at this rate they last for two years. */
static bool enrol_may_gain(struct enrol *e, uint64_t ahead)
{
	const uint64_t now = clock_ms();

	if (now - e->gained_since >= ENROL_GAIN_MS) {
		e->gained_since = now;
		e->gained = 0;
	}
	return e->gained + ahead <= ROSTER_STEP_MAX;
}

struct roster *enrol_roster(const struct agent *agent)
{
	return agent->enrol->roster;
}

struct peer *enrol_top(struct agent *agent)
{
	return agent->enrol->ops->top(agent);
}

const char *enrol_take(struct agent *agent, const json_t *answer)
{
	const char *why;
	struct roster *theirs = roster_from_json(answer, &why);
	uint64_t ahead;
	int changed;

	if (!theirs)
		return why;
	ahead = roster_ahead(agent->enrol->roster, theirs);
	changed = enrol_may_gain(agent->enrol, ahead) ? roster_merge(agent->enrol->roster, theirs)
						      : -ERANGE;
	roster_free(theirs);
	if (changed == -ERANGE)
		return "it is too many changes ahead of ours";
	if (changed == -EINVAL)
		return "its topology differs";
	if (changed < 0)
		return "out of memory";
	agent->enrol->gained += ahead;
	if (changed)
		enrol_changed(agent);
	return NULL;
}

static void enrol_on_exchanged(void *ctx, int status, const json_t *reply)
{
	const struct peer *from = ctx;
	struct agent *agent = from->agent;
	const char *why = NULL;

	if (status == 200)
		why = enrol_take(agent, reply);
	if (why && log_allowed(&enrol_log))
		log_warning("%s (%s) sent an unusable roster: %s", from->text, from->host, why);
}

/* Afterwards each side has what the other lacked, for example after a partition. 0 or -ENOMEM. */
static int enrol_exchange(struct peer *with, client_reply_fn done)
{
	json_t *ours = roster_to_json(with->agent->enrol->roster);

	return ours ? link_request(with, "/v1/roster", ours, ENROL_ASK_MS, done, with) : -ENOMEM;
}

static void enrol_on_pulled(void *ctx, int status, const json_t *reply)
{
	const struct peer *from = ctx;

	from->agent->enrol->pulling = false;
	enrol_on_exchanged(ctx, status, reply);
}

void enrol_pull(struct peer *from)
{
	struct enrol *e = from->agent->enrol;

	/* One at a time: a peer with a newer roster will say so again. */
	if (!e->pulling && !from->self)
		e->pulling = !enrol_exchange(from, enrol_on_pulled);
}

/* Decisions made here must not be lost with this node: its peers are told at once. */
static void enrol_on_news(evutil_socket_t fd, short what, void *arg)
{
	struct agent *agent = arg;
	unsigned int n = 0;
	struct peer *p;

	for (p = peers_next(agent, NULL); p && n < ENROL_SPREAD; p = peers_next(agent, p))
		if (!p->self && (p->up || p->said) && !enrol_exchange(p, enrol_on_exchanged))
			n++;
}

void enrol_decided(struct agent *agent)
{
	const struct timeval soon = { 0, ENROL_NEWS_MS * 1000 };

	enrol_changed(agent);
	if (!evtimer_pending(agent->enrol->news, NULL))
		evtimer_add(agent->enrol->news, &soon);
}

void enrol_seen(struct peer *from, const json_t *body)
{
	struct agent *agent = from->agent;
	uint64_t version;

	if (!report_number(body, "roster", INT64_MAX, &version) && version > enrol_version(agent))
		enrol_pull(from);
}

/* Configured addresses may differ between nodes and still be right for each. */
bool enrol_has_moved(const struct peer *p, const char *address)
{
	const struct roster_entry *e = roster_by_code(p->agent->enrol->roster, p->code.index);

	return address && e && e->version && strcmp(e->address.text, address);
}

json_t *enrol_on_roster(struct agent *agent, struct peer *from, const json_t *body, int *status)
{
	json_t *reply = roster_to_json(agent->enrol->roster);

	if (!reply)
		*status = 503;
	return reply;
}

json_t *enrol_on_exchange(struct agent *agent, struct peer *from, const json_t *body, int *status)
{
	const char *why = enrol_take(agent, body);

	if (!why)
		return enrol_on_roster(agent, from, NULL, status);
	if (log_allowed(&enrol_log))
		log_warning("%s (%s) sent an unusable roster: %s", from->text, from->host, why);
	*status = 400;
	return json_pack("{s:s}", "error", why);
}

/* ---- this host ---- */

bool enrol_may_ask(struct agent *agent)
{
	const struct roster_entry *e = roster_by_host(agent->enrol->roster, agent->config->host);

	return !agent->enrol->leaving && (agent->config->njoin || (e && e->version));
}

void enrol_refused(struct agent *agent)
{
	uint64_t now = clock_ms();
	struct peer *p;

	/* Members that know this host will tell those that do not. */
	for (p = peers_next(agent, NULL); p; p = peers_next(agent, p)) {
		if (!p->up)
			continue;
		agent->enrol->refused_since = 0;
		return;
	}
	if (!agent->enrol->refused_since)
		agent->enrol->refused_since = now;
	if (now - agent->enrol->refused_since < ENROL_REFUSED_MS)
		return;
	log_error("no member knows this host, %s, as node %s any more: restart the agent to join "
		  "again",
		  agent->config->host, agent->code);
	agent_end(agent, 1);
}

json_t *enrol_question(struct agent *agent, const char *code, bool runs)
{
	return json_pack("{s:s,s:s,s:s,s:s*,s:b}", "cluster", agent->config->cluster, "host",
			 agent->config->host, "address", agent->config->address.text, "code", code,
			 "runs", (int)runs);
}

static void enrol_on_left(void *ctx, int status, const json_t *reply)
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
		agent->enrol->left(agent, why);
		return;
	}
	store_remove(agent->config);
	agent->enrol->left(agent, NULL);
}

/* The other member with the lowest code, one that is up if possible. */
static struct peer *enrol_someone(struct agent *agent)
{
	struct peer *p, *best = NULL;

	for (p = peers_next(agent, NULL); p; p = peers_next(agent, p))
		if (!p->self && (!best || (p->up && !best->up) ||
				 (p->up == best->up && p->code.index < best->code.index)))
			best = p;
	return best;
}

static void enrol_tell(struct peer *to)
{
	struct agent *agent = to->agent;
	json_t *body = json_pack("{s:s,s:s}", "cluster", agent->config->cluster, "host",
				 agent->config->host);

	if (!body || link_request(to, "/v1/leave", body, 2 * ENROL_ASK_MS, enrol_on_left, to))
		agent->enrol->left(agent, "out of memory");
}

static void enrol_on_handed_over(void *ctx, int status, const json_t *reply)
{
	if (status == 200)
		enrol_tell(ctx);
	else
		enrol_on_left(ctx, status, reply);
}

void enrol_leave(struct agent *agent, enrol_left_fn done)
{
	struct peer *top = enrol_top(agent), *other = enrol_someone(agent);

	agent->enrol->left = done;
	agent->enrol->leaving = true;
	evtimer_del(agent->enrol->timer);
	if (top && !top->self) {
		enrol_tell(top);
	} else if (!other) {
		store_remove(agent->config);
		done(agent, NULL);
	} else if (enrol_exchange(other, enrol_on_handed_over)) {
		/* The member that decides for us must first know all that we decided. */
		done(agent, "out of memory");
	}
}

/* ---- set-up ---- */

static int enrol_add_configured(struct agent *agent)
{
	const struct config *c = agent->config;

	for (size_t i = 0; i < c->npeers; i++) {
		const struct config_peer *p = &c->peers[i];
		struct roster_entry e = { .index = p->code.index, .address = p->address };
		const struct roster_entry *in;

		strcpy(e.host, p->host);
		if (roster_add(agent->enrol->roster, &e) < 0)
			return -ENOMEM;
		in = roster_by_code(agent->enrol->roster, p->code.index);
		if (!in || strcmp(in->host, p->host))
			log_warning("%s:%d: peer \"%s\": this code belongs to %s in the roster",
				    c->file, p->line, p->text, in ? in->host : "no host");
	}
	return 0;
}

int enrol_init(struct agent *agent, const struct enrol_ops *ops, struct roster *roster)
{
	struct enrol *e = calloc(1, sizeof(*e));

	agent->enrol = e;
	if (!e) {
		roster_free(roster);
		return -ENOMEM;
	}
	e->ops = ops;
	e->roster = roster ?: roster_new(&agent->config->topology);
	e->timer = evtimer_new(agent->base, enrol_on_save, agent);
	e->news = evtimer_new(agent->base, enrol_on_news, agent);
	if (!e->roster || !e->timer || !e->news || enrol_add_configured(agent) ||
	    enrol_apply(agent)) {
		log_error("out of memory for the roster");
		return -ENOMEM;
	}
	if (!enrol_is_ours(agent))
		return -EEXIST;
	if (enrol_version(agent))
		enrol_on_save(-1, 0, agent);
	return 0;
}

void enrol_reload(struct agent *agent, const struct config *old)
{
	for (size_t i = 0; i < old->npeers; i++)
		roster_drop(agent->enrol->roster, old->peers[i].code.index);
	if (enrol_add_configured(agent))
		log_error("out of memory: new peers not added; reload again later");
	enrol_changed(agent);
}

void enrol_exit(struct agent *agent)
{
	struct enrol *e = agent->enrol;

	if (!e)
		return;
	if (e->timer && evtimer_pending(e->timer, NULL))
		enrol_on_save(-1, 0, agent);
	if (e->timer)
		event_free(e->timer);
	if (e->news)
		event_free(e->news);
	roster_free(e->roster);
	free(e);
	agent->enrol = NULL;
}
