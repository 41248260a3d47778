// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The paper broadcasts on one Ethernet; here a controller asks its children only, all at once. A host
 * or a group that does not answer in time is as one that offers nothing: its offers end by
 * themselves.
 */

#include "cluster/gang_request.h"

#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "base/agent.h"
#include "base/config.h"
#include "base/log.h"
#include "cluster/hierarchy.h"
#include "cluster/report.h"
#include "cluster/seat.h"
#include "eh/member.h"
#include "eh/topology.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/peers.h"
#include "net/server.h"

#define REQUEST_LEVEL_MS 3000 /* for each level; an offer stands for longer */
#define REQUEST_OFFERS_MAX 8192 /* in one answer, which has 1 MiB at most */
#define REQUEST_ALL_MAX 64 /* under way at a controller */
#define REQUEST_HOME_MAX 8 /* of these, of one home, which bounds each of its users */

/* One REQUEST at a controller. */
struct gang_asked {
	struct gang_asked *next;
	struct agent *agent;
	const struct peer *home;
	uint64_t tid;
	double threshold;
	unsigned int waits; /* answers to come, and one for the caller */
	json_t *offers;
	gang_request_fn done;
	void *ctx;
};

struct gang_requests {
	struct gang_asked *list;
	unsigned int all;
};

struct request_call {
	struct gang_asked *of;
	unsigned int level; /* of the group that was asked; 0: a node */
	const struct peer *to;
};

static struct log_limit request_log;

static void request_release(struct gang_asked *a)
{
	if (--a->waits)
		return;
	LL_DELETE(a->agent->gang_requests->list, a);
	a->agent->gang_requests->all--;
	a->done(a->ctx, a->offers, NULL);
	free(a);
}

/* ---- the answers ---- */

/* A controller speaks for its group, a node for itself: what is said of others is left out. */
static bool request_is_below(const struct request_call *call, const json_t *offer)
{
	const struct agent *agent = call->of->agent;
	const struct eh_topology *t = &agent->config->topology;
	const char *text = json_string_value(json_object_get(offer, "node"));
	const json_t *used = json_object_get(offer, "utilization");
	const unsigned int bits = t->n * call->level;
	struct eh_code code;
	uint64_t number;

	return text && !eh_code_parse(t, text, &code) && !code.level &&
	       peers_by_code(agent, code) && code.index >> bits == call->to->code.index >> bits &&
	       !report_number(offer, "offer", GANG_NUMBER_MAX, &number) && number &&
	       json_is_number(used) && json_number_value(used) >= 0 && json_number_value(used) <= 1;
}

static void request_take(const struct request_call *call, const json_t *reply)
{
	const json_t *offer;
	size_t i;

	json_array_foreach(json_object_get(reply, "offers"), i, offer)
		if (json_array_size(call->of->offers) < REQUEST_OFFERS_MAX &&
		    request_is_below(call, offer))
			json_array_append(call->of->offers, (json_t *)offer);
}

static void request_on_reply(void *ctx, int status, const json_t *reply)
{
	struct request_call *call = ctx;

	if (status == 200)
		request_take(call, reply);
	request_release(call->of);
	free(call);
}

/* ---- the questions ---- */

static json_t *request_json(uint64_t tid, double threshold, unsigned int level, const char *home)
{
	return json_pack("{s:s, s:I, s:f, s:i, s:s}", "type", "request", "gang", (json_int_t)tid,
			 "threshold", threshold, "level", (int)level, "home", home);
}

static void request_own(struct gang_asked *a)
{
	double utilization;
	uint64_t offer;

	if (seat_request(a->agent, a->home, a->tid, a->threshold, &offer, &utilization))
		json_array_append_new(a->offers,
				      json_pack("{s:s, s:I, s:f}", "node", a->agent->code, "offer",
						(json_int_t)offer, "utilization", utilization));
}

static void request_ask(struct gang_asked *a, uint32_t node, unsigned int level)
{
	struct peer *to = peers_by_code(a->agent, (struct eh_code){ 0, node });
	struct request_call *call = to && !to->self ? malloc(sizeof(*call)) : NULL;
	json_t *body = request_json(a->tid, a->threshold, level, peer_code(a->home));

	if (!call || !body) {
		json_decref(body);
		free(call);
		return;
	}
	*call = (struct request_call){ a, level, to };
	a->waits++;
	if (!link_request(to, "/v1/gang", body, REQUEST_LEVEL_MS * (level + 1), request_on_reply,
			  call))
		return;
	a->waits--;
	free(call);
}

static void request_level(struct gang_asked *a, unsigned int level)
{
	const unsigned int n = a->agent->config->topology.n;
	const unsigned int own = a->agent->self.index >> n * (level - 1) & ((1u << n) - 1);

	for (unsigned int i = 0; i < 1u << n; i++) {
		struct eh_child child;
		uint32_t node;

		if (i != own &&
		    !eh_member_child(hierarchy_member(a->agent), level, i, &child, &node))
			request_ask(a, node, level - 1);
	}
}

/* Asks what this node leads up to that level. NULL, or why not. */
static const char *request_below(struct agent *agent, const struct peer *home, uint64_t tid,
				 double threshold, unsigned int level, gang_request_fn done,
				 void *ctx)
{
	struct gang_requests *all = agent->gang_requests;
	unsigned int same = 0;
	struct gang_asked *a;

	for (a = all->list; a; a = a->next)
		same += a->home == home;
	if (all->all >= REQUEST_ALL_MAX || same >= REQUEST_HOME_MAX)
		return "too many requests for gangs at once";
	a = calloc(1, sizeof(*a));
	if (!a)
		return "out of memory";
	*a =
		(struct gang_asked){ all->list, agent,	      home, tid, threshold,
				     1,		json_array(), done, ctx };
	all->list = a;
	all->all++;
	request_own(a);
	for (unsigned int l = 1; l <= level; l++)
		request_level(a, l);
	request_release(a);
	return NULL;
}

/* ---- of this node ---- */

struct request_top {
	struct agent *agent;
	gang_request_fn done;
	void *ctx;
};

static void request_on_top(void *ctx, int status, const json_t *reply)
{
	struct request_top *t = ctx;
	const json_t *offers = json_object_get(reply, "offers");
	const json_t *error = json_object_get(reply, "error");

	if (status == 200 && json_is_array(offers))
		t->done(t->ctx, json_incref((json_t *)offers), NULL);
	else
		t->done(t->ctx, NULL,
			json_string_value(error) ?: "the top controller does not answer");
	free(t);
}

void gang_request(struct agent *agent, uint64_t tid, double threshold, gang_request_fn done,
		  void *ctx)
{
	struct peer *top = hierarchy_top(agent);
	const unsigned int l = agent->config->topology.l;
	struct request_top *t;
	json_t *body;
	const char *why;

	if (top->self) {
		why = hierarchy_rank(agent) == l
			      ? request_below(agent, top, tid, threshold, l, done, ctx)
			      : "no top controller is known yet";
		if (why)
			done(ctx, NULL, why);
		return;
	}
	body = request_json(tid, threshold, l, agent->code);
	t = body ? malloc(sizeof(*t)) : NULL;
	if (!t) {
		json_decref(body);
		done(ctx, NULL, "out of memory");
		return;
	}
	*t = (struct request_top){ agent, done, ctx };
	if (link_request(top, "/v1/gang", body, REQUEST_LEVEL_MS * (l + 1), request_on_top, t)) {
		free(t);
		done(ctx, NULL, "out of memory");
	}
}

/* ---- of others ---- */

static void request_on_done(void *ctx, json_t *offers, const char *why)
{
	server_answer(ctx, offers ? 200 : 503,
		      offers ? json_pack("{s:o}", "offers", offers) : NULL);
}

/* Home asks the top itself; below it, only the controller above asks. */
static int request_may(struct agent *agent, const struct peer *from, const struct peer *home,
		       unsigned int level)
{
	if (level < agent->config->topology.l)
		return from->code.index == eh_member_parent(hierarchy_member(agent)) ? 0 : 403;
	if (from != home)
		return 403;
	return hierarchy_rank(agent) == level ? 0 : 409;
}

void gang_request_on_message(struct agent *agent, struct peer *from, const json_t *body,
			     struct server_answer *answer)
{
	const struct eh_topology *t = &agent->config->topology;
	const char *text = json_string_value(json_object_get(body, "home")), *why;
	const json_t *threshold = json_object_get(body, "threshold");
	const unsigned int rank = hierarchy_rank(agent);
	struct peer *home = NULL;
	uint64_t tid, level;
	struct eh_code code;
	int refused;

	if (text && !eh_code_parse(t, text, &code) && !code.level)
		home = peers_by_code(agent, code);
	if (!home || report_number(body, "gang", GANG_NUMBER_MAX, &tid) || !tid ||
	    report_number(body, "level", t->l, &level) || !json_is_number(threshold) ||
	    !(json_number_value(threshold) >= 0 && json_number_value(threshold) <= 2)) {
		server_refuse(answer, 400, "not a request for a gang");
		return;
	}
	refused = request_may(agent, from, home, (unsigned int)level);
	if (refused == 403 && log_allowed(&request_log))
		log_warning("%s (%s) sent a request for a gang of %s, which it may not send",
			    peer_code(from), peer_host(from), peer_code(home));
	if (refused) {
		server_refuse(answer, refused,
			      refused == 409 ? "this node is not the top controller"
					     : "the sender may not ask for this");
		return;
	}
	why = request_below(agent, home, tid, json_number_value(threshold),
			    level < rank ? (unsigned int)level : rank, request_on_done, answer);
	if (why)
		server_refuse(answer, 503, why);
}

int gang_request_init(struct agent *agent)
{
	agent->gang_requests = calloc(1, sizeof(*agent->gang_requests));
	return agent->gang_requests ? 0 : -ENOMEM;
}

void gang_request_exit(struct agent *agent)
{
	/* no answer comes any more: client.c has told all that there is none */
	free(agent->gang_requests);
	agent->gang_requests = NULL;
}
