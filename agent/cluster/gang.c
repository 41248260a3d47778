// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The state machine's messages go to one host each: OCCUPY has this host's offer only, and none when
 * it is not among the chosen. A host's answer is the HTTP answer.
 */

#include "cluster/gang.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <event2/event.h>
#include <utlist.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "cluster/gang_request.h"
#include "cluster/gang_user.h"
#include "cluster/report.h"
#include "cluster/seat.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/peers.h"
#include "net/server.h"
#include "plan/gang/protocol.h"

#define GANG_TICK_MS 200
#define GANG_ANSWER_MS 5000 /* a host may be slow to say that it has been occupied or is free */
#define GANG_COLLECT_MS 15000 /* for all of them to say so */
#define GANG_ALL_MAX 256
#define GANG_USER_MAX 16 /* of these, of one user but root */
#define GANG_ASKING_MAX 2 /* of these, that wait for offers: others have to ask, too */
#define GANG_LEAST_MS 1000 /* to choose in */
#define GANG_SLOW_MS 500 /* it is no fault of the user if offers take longer to come */
#define GANG_WHY 160

struct gang {
	struct gang *next;
	struct agent *agent;
	uid_t uid;
	const struct gang_ops *ops; /* NULL: the owner has gone */
	void *ctx;
	struct gang_job job;
	struct event *timer;
	unsigned int refs; /* the owner, and each request that is under way */
	unsigned int releases; /* of these, to be released */
	bool chosen, told_others; /* those that are not among the chosen were told so */
	bool running, over, wants_release;
	/* ms; 0: no hosts are offered */
	uint64_t asked_at, offered_at, choose_until;
	/* which host was lost, and why; "": none was */
	char node[EH_CODE_TEXT], host[ADDRESS_HOST_MAX + 1], why[GANG_WHY];
};

struct gangs {
	struct gang *list;
	struct gang_user *users;
	unsigned int all;
};

struct gang_call {
	struct gang *of;
	uint32_t node;
	bool releases;
};

static struct log_limit gang_log;

static void gang_look(struct gang *g);
static void gang_send(void *ctx, const struct gang_message *m);

static struct peer *gang_peer(const struct gang *g, uint32_t node)
{
	return peers_by_code(g->agent, (struct eh_code){ 0, node });
}

static void gang_put(struct gang *g)
{
	if (--g->refs)
		return;
	LL_DELETE(g->agent->gangs->list, g);
	g->agent->gangs->all--;
	event_free(g->timer);
	gang_job_end(&g->job);
	free(g);
}

/* ---- messages out ---- */

static void gang_confirmed(struct gang *g, uint32_t node, uint64_t stamp, uint32_t lease)
{
	gang_job_step(&g->job,
		      &(struct gang_message){ .type = GANG_CONFIRM,
					      .tid = g->job.options.tid,
					      .host = node,
					      .stamp = stamp,
					      .lease = lease },
		      clock_ms(), gang_send, g);
}

static void gang_blame(struct gang *g, const struct peer *p, const char *why)
{
	snprintf(g->node, sizeof(g->node), "%s", p ? peer_code(p) : "?");
	snprintf(g->host, sizeof(g->host), "%s", p ? peer_host(p) : "a host");
	snprintf(g->why, sizeof(g->why), "%s", why);
}

/* This host no longer belongs to the gang: there is no need to wait for the end of the lease. */
static void gang_denied(struct gang *g, uint32_t node, const struct peer *p, const char *why)
{
	bool listed = false;

	for (size_t i = 0; i < g->job.nseats; i++)
		listed = listed || g->job.seats[i].host == node;
	if (!listed || g->job.state == GANG_ENDED)
		return;
	gang_blame(g, p, why);
	gang_job_release(&g->job, gang_send, g);
}

static void gang_on_reply(void *ctx, int status, const json_t *reply)
{
	struct gang_call *call = ctx;
	struct gang *g = call->of;
	uint64_t stamp, lease;

	if (call->releases)
		g->releases--;
	else if (status == 200 && !report_number(reply, "stamp", GANG_NUMBER_MAX, &stamp) &&
		 !report_number(reply, "lease", SEAT_LEASE_MS, &lease))
		gang_confirmed(g, call->node, stamp, (uint32_t)lease);
	else if (status == 409)
		gang_denied(g, call->node, gang_peer(g, call->node),
			    "it belongs to another gang, or to none");
	free(call);
	gang_look(g);
	gang_put(g);
}

static void gang_post(struct gang *g, uint32_t node, json_t *body, bool releases)
{
	struct peer *to = gang_peer(g, node);
	struct gang_call *call = to && body ? malloc(sizeof(*call)) : NULL;

	if (!call) {
		json_decref(body);
		return; /* as if it were lost */
	}
	*call = (struct gang_call){ g, node, releases };
	if (link_request(to, "/v1/gang", body, GANG_ANSWER_MS, gang_on_reply, call)) {
		free(call);
		return;
	}
	g->refs++;
	g->releases += releases;
}

/* Offer 0: this host is not among the chosen. */
static void gang_send_occupy(struct gang *g, const struct gang_message *m, uint32_t node,
			     uint64_t offer)
{
	uint64_t stamp = m->stamp;
	uint32_t lease = m->lease;
	json_t *body;

	if (node == g->agent->self.index) {
		if (!seat_occupy(g->agent, peers_self(g->agent), m->tid, offer, &stamp, &lease))
			gang_confirmed(g, node, stamp, lease);
		return;
	}
	body = json_pack("{s:s, s:I, s:I, s:i}", "type", "occupy", "gang", (json_int_t)m->tid,
			 "stamp", (json_int_t)stamp, "lease", (int)lease);
	if (body && offer)
		json_object_set_new(body, "offer", json_integer((json_int_t)offer));
	gang_post(g, node, body, !offer);
}

static void gang_send_release(struct gang *g, const struct gang_message *m, uint32_t node,
			      uint64_t offer)
{
	json_t *body;

	if (node == g->agent->self.index) {
		seat_release(g->agent, peers_self(g->agent), m->tid, offer);
		return;
	}
	body = json_pack("{s:s, s:I}", "type", "release", "gang", (json_int_t)m->tid);
	if (body && offer)
		json_object_set_new(body, "offer", json_integer((json_int_t)offer));
	gang_post(g, node, body, true);
}

/* To those that offered themselves: nobody else has anything of this gang. */
static void gang_send_others(struct gang *g, const struct gang_message *m)
{
	for (size_t i = 0; i < g->job.nreplies; i++) {
		uint32_t node = g->job.replies[i].seat.host;
		bool listed = false;

		for (size_t k = 0; k < g->job.nseats && !listed; k++)
			listed = g->job.seats[k].host == node;
		if (!listed && m->type == GANG_OCCUPY)
			gang_send_occupy(g, m, node, 0);
		else if (!listed)
			gang_send_release(g, m, node, 0);
	}
}

static void gang_send(void *ctx, const struct gang_message *m)
{
	struct gang *g = ctx;

	if (m->type == GANG_RELEASE && m->single) {
		gang_send_release(g, m, m->host, m->offer);
	} else if (m->type == GANG_RELEASE) {
		for (size_t i = 0; i < g->job.nseats; i++)
			gang_send_release(g, m, g->job.seats[i].host, 0);
		if (!g->told_others)
			gang_send_others(g, m);
	} else if (m->type == GANG_OCCUPY) {
		for (size_t i = 0; i < m->nseats; i++)
			gang_send_occupy(g, m, m->seats[i].host, m->seats[i].offer);
		if (!g->told_others)
			gang_send_others(g, m);
		g->told_others = true;
	}
}

/* ---- hosts that are offered, and not taken ---- */

/* The hosts that were offered are taken now, or free. */
static void gang_chosen(struct gang *g)
{
	if (g->offered_at && g->uid)
		gang_user_spend(&g->agent->gangs->users, g->uid, g->offered_at);
	g->offered_at = 0;
}

static void gang_offered(struct gang *g)
{
	const uint64_t now = clock_ms(), soon = g->asked_at + GANG_SLOW_MS;
	const uint32_t left = gang_user_left(&g->agent->gangs->users, g->uid);

	if (!g->job.nreplies)
		return;
	g->offered_at = soon < now ? now - GANG_SLOW_MS : g->asked_at;
	g->choose_until = now + (left > GANG_LEAST_MS ? left : GANG_LEAST_MS);
}

/* ---- its life ---- */

/* Which host's lease is over, if the machine has ended because of one. */
static void gang_find_missing(struct gang *g)
{
	uint64_t now = clock_ms();

	if (*g->why)
		return;
	for (size_t i = 0; i < g->job.nseats; i++) {
		if (g->job.until[i] > now)
			continue;
		gang_blame(g, gang_peer(g, g->job.seats[i].host), "it does not answer");
		return;
	}
	gang_blame(g, NULL, "its lease is over");
}

/* Tells the owner what has changed. */
static void gang_look(struct gang *g)
{
	char text[sizeof(g->host) + sizeof(g->why) + 2];

	if (!g->ops)
		return;
	if (g->job.state == GANG_RUNNING && !g->running) {
		g->running = true;
		g->ops->occupied(g->ctx, NULL);
	} else if (g->job.state == GANG_ENDED && g->chosen && !g->over && !g->wants_release) {
		g->over = true;
		gang_find_missing(g);
		snprintf(text, sizeof(text), "%s: %s", g->host, g->why);
		if (g->running)
			g->ops->lost(g->ctx, g->node, g->host, g->why);
		else
			g->ops->occupied(g->ctx, text);
	} else if (g->wants_release && !g->releases) {
		g->wants_release = false;
		g->ops->released(g->ctx);
	}
}

static void gang_on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct gang *g = arg;

	g->refs++; /* the owner may drop it when it is told */
	if (g->job.state == GANG_CHOOSING && g->uid && g->offered_at &&
	    clock_ms() >= g->choose_until) {
		gang_job_release(&g->job, gang_send, g);
		gang_chosen(g);
	}
	if (g->job.state == GANG_OCCUPYING || g->job.state == GANG_RUNNING)
		gang_job_step(&g->job, NULL, clock_ms(), gang_send, g);
	gang_look(g);
	gang_put(g);
}

static void gang_on_offers(void *ctx, json_t *offers, const char *why)
{
	struct gang *g = ctx;
	json_t *hosts = json_array(), *offer;
	struct eh_code code;
	size_t i;

	json_array_foreach(offers, i, offer) {
		const char *node = json_string_value(json_object_get(offer, "node"));
		double used = json_number_value(json_object_get(offer, "utilization"));
		uint64_t number;

		if (!node || eh_code_parse(&g->agent->config->topology, node, &code) ||
		    code.level || !peers_by_code(g->agent, code) || !(used >= 0 && used <= 1) ||
		    report_number(offer, "offer", GANG_NUMBER_MAX, &number) || !number ||
		    gang_job_step(&g->job,
				  &(struct gang_message){ .type = GANG_REPLY,
							  .tid = g->job.options.tid,
							  .host = code.index,
							  .offer = number,
							  .utilization = used },
				  g->job.deadline - 1, gang_send, g))
			continue;
		if (g->job.state == GANG_ASKING)
			json_array_append_new(
				hosts, json_pack("{s:s, s:f}", "node", node, "utilization", used));
	}
	json_decref(offers);
	gang_job_enough(&g->job);
	gang_offered(g);
	clock_arm(g->timer, GANG_TICK_MS);
	if (g->ops && !why)
		g->ops->offered(g->ctx, json_incref(hosts), NULL);
	else if (g->ops)
		g->ops->offered(g->ctx, NULL, why);
	else
		gang_job_release(&g->job, gang_send, g);
	if (g->job.state == GANG_ENDED)
		gang_chosen(g);
	json_decref(hosts);
	gang_put(g);
}

/* The REQUEST goes through the hierarchy, once: it is not the machine that repeats it. */
static void gang_send_nothing(void *ctx, const struct gang_message *m)
{
}

/* NULL, or why this user gets no hosts now. */
static const char *gang_refuses(struct agent *agent, uid_t uid)
{
	unsigned int same = 0, asking = 0;

	for (const struct gang *g = agent->gangs->list; g; g = g->next) {
		same += g->uid == uid;
		asking += g->uid == uid && g->job.state == GANG_ASKING;
	}
	if (agent->gangs->all >= GANG_ALL_MAX || (uid && same >= GANG_USER_MAX))
		return "too many gangs were begun here";
	if (uid && asking >= GANG_ASKING_MAX)
		return "too many requests for gangs at once";
	if (uid && gang_user_left(&agent->gangs->users, uid) < GANG_LEAST_MS)
		return "hosts that this user was offered of late were kept waiting for too long; "
		       "ask again in a minute";
	return NULL;
}

struct gang *gang_new(struct agent *agent, uid_t uid, double threshold, const struct gang_ops *ops,
		      void *ctx, const char **why)
{
	struct gang_job_options options = { .threshold = threshold,
					    .collect = GANG_COLLECT_MS,
					    .repeat = GANG_ANSWER_MS,
					    .lease = agent->config->gang_lease,
					    .margin = agent->config->gang_lease / 30 };
	struct gang *g;

	*why = gang_refuses(agent, uid);
	if (*why)
		return NULL;
	*why = "out of memory";
	if (getrandom(&options.tid, sizeof(options.tid), 0) != sizeof(options.tid))
		return NULL;
	options.tid = options.tid % (GANG_NUMBER_MAX - 1) + 1;
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->timer = event_new(agent->base, -1, EV_PERSIST, gang_on_tick, g);
	if (!g->timer) {
		free(g);
		return NULL;
	}
	g->agent = agent;
	g->uid = uid;
	g->ops = ops;
	g->ctx = ctx;
	g->refs = 2;
	g->asked_at = clock_ms();
	LL_PREPEND(agent->gangs->list, g);
	agent->gangs->all++;
	gang_job_begin(&g->job, &options, clock_ms(), gang_send_nothing, NULL);
	gang_request(agent, options.tid, threshold, gang_on_offers, g);
	return g;
}

const char *gang_occupy(struct gang *g, const uint32_t *nodes, size_t count)
{
	size_t *chosen, i, k;
	int err;

	if (g->job.state != GANG_CHOOSING || !count)
		return "there are no hosts to choose from, or not any more";
	chosen = calloc(count, sizeof(*chosen));
	if (!chosen)
		return "out of memory";
	for (i = 0; i < count; i++) {
		for (k = 0; k < g->job.nreplies && g->job.replies[k].seat.host != nodes[i]; k++)
			;
		chosen[i] = k;
	}
	g->refs++;
	err = gang_job_choose(&g->job, chosen, count, clock_ms(), gang_send, g);
	free(chosen);
	g->chosen = g->chosen || !err;
	if (!err)
		gang_chosen(g);
	/* what this node itself said is known now; the timer tells */
	gang_put(g);
	if (err == -EINVAL)
		return "a node has not offered itself, or is there twice";
	return err ? "out of memory" : NULL;
}

void gang_release(struct gang *g)
{
	gang_job_release(&g->job, gang_send, g);
	gang_chosen(g);
	g->wants_release = true;
}

void gang_drop(struct gang *g)
{
	g->ops = NULL;
	if (g->job.state != GANG_ASKING)
		gang_job_release(&g->job, gang_send, g);
	gang_chosen(g);
	event_del(g->timer);
	gang_put(g);
}

void gang_forget(struct peer *p)
{
	struct gang *g, *next;

	if (!p->agent->gangs)
		return;
	for (g = p->agent->gangs->list; g; g = next) {
		next = g->next;
		if (g->job.state == GANG_OCCUPYING || g->job.state == GANG_RUNNING)
			gang_denied(g, p->code.index, p, "it has left the cluster");
	}
}

void gang_end_all(struct agent *agent)
{
	for (struct gang *g = agent->gangs ? agent->gangs->list : NULL; g; g = g->next) {
		if (g->job.state != GANG_ASKING) {
			gang_blame(g, peers_self(agent), "its agent ends");
			gang_job_release(&g->job, gang_send, g);
		}
	}
}

/* ---- messages in ---- */

static void gang_on_occupy(struct agent *agent, const struct peer *from, uint64_t tid,
			   const json_t *body, uint64_t offer, struct server_answer *answer)
{
	uint64_t stamp, wished;
	uint32_t lease;

	if (report_number(body, "stamp", GANG_NUMBER_MAX, &stamp) || !stamp ||
	    report_number(body, "lease", UINT32_MAX, &wished)) {
		server_refuse(answer, 400, "not a message of a gang");
		return;
	}
	lease = (uint32_t)wished;
	if (!seat_occupy(agent, from, tid, offer, &stamp, &lease))
		server_answer(
			answer, 200,
			json_pack("{s:I, s:i}", "stamp", (json_int_t)stamp, "lease", (int)lease));
	else if (offer)
		server_refuse(answer, 409, "this node does not belong to this gang");
	else
		server_answer(answer, 200, NULL);
}

void gang_on_message(struct agent *agent, struct peer *from, const json_t *body,
		     struct server_answer *answer)
{
	const char *type = json_string_value(json_object_get(body, "type"));
	uint64_t tid, offer = 0;

	if (type && !strcmp(type, "request")) {
		gang_request_on_message(agent, from, body, answer);
		return;
	}
	if (!type || report_number(body, "gang", GANG_NUMBER_MAX, &tid) || !tid ||
	    (json_object_get(body, "offer") &&
	     (report_number(body, "offer", GANG_NUMBER_MAX, &offer) || !offer))) {
		if (log_allowed(&gang_log))
			log_warning("%s (%s) sent an invalid message of a gang", peer_code(from),
				    peer_host(from));
		server_refuse(answer, 400, "not a message of a gang");
	} else if (!strcmp(type, "occupy")) {
		gang_on_occupy(agent, from, tid, body, offer, answer);
	} else if (!strcmp(type, "release")) {
		seat_release(agent, from, tid, offer);
		server_answer(answer, 200, NULL);
	} else {
		server_refuse(answer, 400, "not a message of a gang");
	}
}

int gang_init(struct agent *agent)
{
	agent->gangs = calloc(1, sizeof(*agent->gangs));
	if (!agent->gangs || gang_request_init(agent))
		return -ENOMEM;
	return seat_init(agent);
}

void gang_exit(struct agent *agent)
{
	/* owners have gone, and nothing is under way */
	if (agent->gangs)
		gang_user_forget_all(&agent->gangs->users);
	free(agent->gangs);
	agent->gangs = NULL;
	gang_request_exit(agent);
	seat_exit(agent);
}
