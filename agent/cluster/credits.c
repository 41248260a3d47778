// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Credits for free processors, between agents. As in hierarchy.c a step lists what to do, and this
 * is done after it. The first message that goes back to the sender of one is its HTTP answer.
 */

#include "cluster/credits.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <linux/ehsched.h>
#include <event2/event.h>
#include <utlist.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "cluster/idle_message.h"
#include "cluster/versions.h"
#include "eh/idle.h"
#include "eh/member.h"
#include "eh/topology.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/peers.h"
#include "net/server.h"
#include "node/node.h"

/* How long a task that stays may be missing in the load. See ask.c, and procload.c's smoothing. */
#define CREDITS_SEEN_MS 50
#define CREDITS_SAMPLED_MS 300
#define CREDITS_STAYS_MAX 64
#define CREDITS_NONE (UINT32_MAX / 4) /* of tasks: more than any node takes */

/* An exec here that waits for an answer. */
struct credits_want {
	struct credits_want *next;
	struct agent *agent;
	uint64_t id;
	unsigned int hold_ms;
	struct event *limit;
	credits_fn done;
	void *ctx;
};

struct credits {
	struct eh_idle *idle;
	struct credits_want *wants;
	uint64_t stays[CREDITS_STAYS_MAX]; /* when they are certainly in the load */
	size_t nstays;
	unsigned int told; /* tasks, last */
	struct event *held; /* an ask has waited here for its time */
};

/* A message that was sent; an ask is for this exec of `home`. */
struct credits_sent {
	struct peer *to;
	bool asks;
	uint64_t id;
	uint32_t home;
};

/* What a step asks for. */
struct credits_update {
	struct credits_update *next;
	uint32_t node;
	bool answered;
	struct eh_idle_message message;
};

struct credits_updates {
	struct credits_update *first, **last;
	bool lost;
};

/* A received message that can still be answered. */
struct credits_incoming {
	struct peer *from;
	struct server_answer *answer;
};

static struct log_limit credits_log;

bool credits_on(const struct agent *agent)
{
	return agent->credits;
}

/* ---- own execs ---- */

static void credits_want_free(struct credits_want *w)
{
	event_free(w->limit);
	free(w);
}

/* Ends the want with this id. False: there is none. */
static bool credits_end(struct agent *agent, uint64_t id, struct peer *to,
			const struct eh_credit *credit)
{
	struct credits_want *w;

	LL_SEARCH_SCALAR(agent->credits->wants, w, id, id);
	if (!w)
		return false;
	LL_DELETE(agent->credits->wants, w);
	w->done(w->ctx, to, credit);
	credits_want_free(w);
	return true;
}

static bool credits_answered(struct agent *agent, uint64_t id, const struct eh_credit *credit)
{
	return credits_end(
		agent, id,
		credit ? peers_by_code(agent, (struct eh_code){ 0, credit->node }) : NULL, credit);
}

static void credits_on_limit(evutil_socket_t fd, short what, void *arg)
{
	struct credits_want *w = arg;

	credits_answered(w->agent, w->id, NULL);
}

/* ---- out ---- */

static int credits_receive(struct agent *agent, struct peer *from, const json_t *body,
			   struct credits_incoming *in);

static void credits_send(struct agent *agent, const struct credits_update *u,
			 struct credits_incoming *in);

/* The next node to ask knows no credits, or is not there: home is not to wait for it. */
static void credits_none(struct agent *agent, uint32_t home, uint64_t id,
			 struct credits_incoming *in)
{
	const struct credits_update none = {
		.node = home,
		.message = { .type = EH_IDLE_ANSWER, .answer = { .id = id } },
	};

	if (home == agent->self.index)
		credits_answered(agent, id, NULL);
	else
		credits_send(agent, &none, in);
}

static void credits_on_reply(void *ctx, int status, const json_t *reply)
{
	struct credits_sent *sent = ctx;
	struct agent *agent = sent->to->agent;

	if (agent->credits && status == 200 && json_object_size(reply))
		credits_receive(agent, sent->to, reply, NULL);
	else if (agent->credits && status != 200 && sent->asks)
		credits_none(agent, sent->home, sent->id, NULL);
	free(sent);
}

static void credits_send(struct agent *agent, const struct credits_update *u,
			 struct credits_incoming *in)
{
	struct peer *to = peers_by_code(agent, (struct eh_code){ 0, u->node });
	const struct eh_idle_message *m = &u->message;
	const bool asks = m->type == EH_IDLE_ASK;
	struct credits_sent *sent;
	json_t *body;

	if (!to)
		return;
	/* Earlier versions say it otherwise, and would call it invalid. */
	if (to->protocol && to->protocol < VERSIONS_CREDITS) {
		if (asks)
			credits_none(agent, m->ask.home, m->ask.id, in);
		return;
	}
	body = idle_message_to_json(&agent->config->topology, m);
	if (body && in && in->answer && in->from == to) {
		server_answer(in->answer, 200, body);
		in->answer = NULL;
		return;
	}
	sent = body ? malloc(sizeof(*sent)) : NULL;
	if (!sent) {
		json_decref(body);
		return; /* lost, as with a broken link */
	}
	*sent = (struct credits_sent){
		.to = to,
		.asks = asks,
		.id = asks ? m->ask.id : 0,
		.home = asks ? m->ask.home : 0,
	};
	if (link_request(to, "/v1/credit", body, 3 * agent->config->heartbeat, credits_on_reply,
			 sent))
		free(sent);
}

/* ---- steps ---- */

static void credits_on_update(void *ctx, const struct eh_idle_update *up)
{
	struct credits_updates *list = ctx;
	struct credits_update *u = calloc(1, sizeof(*u));

	if (!u) {
		list->lost = true;
		return;
	}
	u->node = up->node;
	u->answered = up->type == EH_IDLE_ANSWERED;
	u->message = *up->message;
	*list->last = u;
	list->last = &u->next;
}

static int credits_step(struct agent *agent, const struct eh_idle_event *event,
			struct credits_incoming *in);

/* Whether this node's group has one that gives no credits because of its version: how many tasks it has is not known here. */
static bool credits_miss_some(const struct agent *agent)
{
	const uint32_t nodes = 1u << agent->config->topology.n,
		       first = agent->self.index & ~(nodes - 1);

	for (uint32_t node = first; node < first + nodes; node++) {
		const struct peer *p = peers_by_code(agent, (struct eh_code){ 0, node });

		if (p && peer_is_up(p) && p->protocol && p->protocol < VERSIONS_CREDITS)
			return true;
	}
	return false;
}

/* A credit that is no free processor says that all have tasks; else it is for the thresholds to decide. */
static void credits_doubt(struct agent *agent, struct eh_idle_message *m)
{
	if (m->type != EH_IDLE_ANSWER || !m->answer.found || !m->answer.credit.tier ||
	    !credits_miss_some(agent))
		return;
	m->answer.found = false;
	credits_unused(agent, &m->answer.credit);
}

/* Does what a step has listed. */
static void credits_do(struct agent *agent, struct credits_updates *list,
		       struct credits_incoming *in)
{
	struct credits_update *u;

	if (list->lost && log_allowed(&credits_log))
		log_error("out of memory: messages about credits dropped");
	while ((u = list->first)) {
		const struct eh_credit *found;

		list->first = u->next;
		credits_doubt(agent, &u->message);
		found = u->answered && u->message.answer.found ? &u->message.answer.credit : NULL;
		if (!u->answered)
			credits_send(agent, u, in);
		else if (!credits_answered(agent, u->message.answer.id, found) && found)
			credits_unused(agent, found);
		free(u);
	}
}

static void credits_on_held(evutil_socket_t fd, short what, void *arg)
{
	credits_step(arg, &(struct eh_idle_event){ .type = EH_IDLE_TICK }, NULL);
}

/* Asks that wait here do not wait for the next heartbeat as well. */
static void credits_wait(struct agent *agent)
{
	uint64_t until, now = clock_ms();

	if (!agent->credits)
		return;
	until = eh_idle_held_until(agent->credits->idle);
	if (until == UINT64_MAX) {
		evtimer_del(agent->credits->held);
		return;
	}
	clock_arm(agent->credits->held, until > now ? until - now : 0);
}

static int credits_step(struct agent *agent, const struct eh_idle_event *event,
			struct credits_incoming *in)
{
	struct credits_updates list = { .last = &list.first };
	int err;

	if (!agent->credits)
		return 0;
	err = eh_idle_step(agent->credits->idle, event, clock_ms(), credits_on_update, &list);
	if (err == -ENOMEM && log_allowed(&credits_log))
		log_error("out of memory: this node takes no credits of others");
	credits_do(agent, &list, in);
	credits_wait(agent);
	return err;
}

void credits_role(struct agent *agent, unsigned int rank, uint32_t parent)
{
	credits_step(agent,
		     &(struct eh_idle_event){ .type = EH_IDLE_ROLE, .role = { rank, parent } },
		     NULL);
}

void credits_gone(struct peer *peer)
{
	credits_step(peer->agent,
		     &(struct eh_idle_event){ .type = EH_IDLE_GONE, .node = peer->code.index },
		     NULL);
}

void credits_tick(struct agent *agent, uint64_t capacity)
{
	if (agent->credits)
		eh_idle_hold(agent->credits->idle, (capacity + 999) / 1000);
	credits_step(agent, &(struct eh_idle_event){ .type = EH_IDLE_TICK }, NULL);
}

/* ---- own processors ---- */

/* Tasks here: what the load says, and those that it does not have yet. */
unsigned int credits_tasks(struct agent *agent)
{
	struct credits *c = agent->credits;
	uint64_t tasks = eh_credit_tasks(node_load(agent)), now = clock_ms();
	size_t n = 0;

	for (size_t i = 0; i < c->nstays; i++)
		if (c->stays[i] > now)
			c->stays[n++] = c->stays[i];
	c->nstays = n;
	tasks += n;
	return tasks < CREDITS_NONE ? (unsigned int)tasks : CREDITS_NONE;
}

bool credits_has_room(struct agent *agent)
{
	return agent->credits && credits_tasks(agent) < node_processors(agent);
}

/* A processor here has become free: the oldest that may wait for one takes it. */
static void credits_go_home(struct agent *agent)
{
	struct credits_want *oldest;

	while (credits_has_room(agent)) {
		oldest = NULL;
		for (struct credits_want *w = agent->credits->wants; w; w = w->next)
			if (w->hold_ms)
				oldest = w;
		if (!oldest)
			return;
		credits_end(agent, oldest->id, peers_self(agent), NULL);
	}
}

void credits_touch(struct agent *agent)
{
	bool closed;
	unsigned int tasks;

	if (!agent->credits)
		return;
	credits_go_home(agent);
	closed = agent->draining || node_guests(agent) >= agent->config->guests;
	tasks = closed ? CREDITS_NONE : credits_tasks(agent);
	if (tasks == agent->credits->told)
		return;
	agent->credits->told = tasks;
	credits_step(agent, &(struct eh_idle_event){ .type = EH_IDLE_TASKS, .tasks = tasks }, NULL);
}

void credits_stays(struct agent *agent)
{
	struct credits *c = agent->credits;
	const bool tasks = node_settings(agent)->index == EHS_INDEX_TASKS;

	/* without the module this index has it at once (local_task.c) */
	if (!c || (tasks && !agent->module) || c->nstays == CREDITS_STAYS_MAX)
		return;
	/* told with the next look at the load: a placement that is about to stay must not be given a processor */
	c->stays[c->nstays++] = clock_ms() + (agent->module ? CREDITS_SEEN_MS : CREDITS_SAMPLED_MS);
}

/* ---- for placements ---- */

void credits_want(struct agent *agent, unsigned int time_ms, unsigned int hold_ms, credits_fn done,
		  void *ctx)
{
	struct credits_want *w = agent->credits ? calloc(1, sizeof(*w)) : NULL;

	/* Anybody who knows the id may answer. */
	if (w && getrandom(&w->id, sizeof(w->id), GRND_NONBLOCK) == sizeof(w->id))
		w->limit = evtimer_new(agent->base, credits_on_limit, w);
	if (!w || !w->limit || clock_arm(w->limit, time_ms)) {
		if (w && w->limit)
			event_free(w->limit);
		free(w);
		done(ctx, NULL, NULL);
		return;
	}
	w->agent = agent;
	w->hold_ms = hold_ms;
	w->done = done;
	w->ctx = ctx;
	LL_PREPEND(agent->credits->wants, w);
	credits_step(agent,
		     &(struct eh_idle_event){ .type = EH_IDLE_WANT, .want = { w->id, hold_ms } },
		     NULL);
}

void credits_unused(struct agent *agent, const struct eh_credit *credit)
{
	credits_step(agent, &(struct eh_idle_event){ .type = EH_IDLE_UNUSED, .credit = *credit },
		     NULL);
}

bool credits_accept(struct agent *agent, const struct eh_credit *credit)
{
	struct credits_updates list = { .last = &list.first };
	bool accepted;

	if (!agent->credits || credit->node != agent->self.index)
		return false;
	accepted =
		eh_idle_accept(agent->credits->idle, credit, clock_ms(), credits_on_update, &list);
	/* so that the next look at the load is told, whatever it was before */
	agent->credits->told = UINT32_MAX;
	credits_do(agent, &list, NULL);
	return accepted;
}

/* ---- in ---- */

static int credits_receive(struct agent *agent, struct peer *from, const json_t *body,
			   struct credits_incoming *in)
{
	struct eh_idle_message msg;
	int err = idle_message_from_json(&agent->config->topology, body, &msg);

	if (!err)
		err = credits_step(agent,
				   &(struct eh_idle_event){ .type = EH_IDLE_MESSAGE,
							    .message = { from->code.index, &msg } },
				   in);
	if ((err == -EINVAL || err == -EPERM) && log_allowed(&credits_log))
		log_warning("%s (%s) sent a message about credits that %s", peer_code(from),
			    peer_host(from),
			    err == -EPERM ? "is not for it to send" : "is invalid");
	return err;
}

void credits_on_message(struct agent *agent, struct peer *from, const json_t *body,
			struct server_answer *answer)
{
	struct credits_incoming in = { from, answer };
	int err;

	if (!agent->credits) {
		server_refuse(answer, 404, "this node uses another policy");
		return;
	}
	err = from->self ? -EINVAL : credits_receive(agent, from, body, &in);
	if (!in.answer)
		return;
	if (err == -EPERM)
		server_refuse(in.answer, 403, "the sender may not say this");
	else if (err == -EINVAL)
		server_refuse(in.answer, 400, "not a message about credits");
	else
		server_answer(in.answer, 200, NULL);
}

/* ---- set-up ---- */

int credits_init(struct agent *agent)
{
	const struct config *config = agent->config;
	const int64_t wall = clock_wall_ms();
	const uint64_t life = wall > 0 && wall < IDLE_LIFE_MAX / 2 ? (uint64_t)wall : 1;
	struct eh_idle_options options = {
		.topology = config->topology,
		.self = agent->self.index,
		/* Others, for which this node was not away, heed none that is less: not even if the clock was set back. */
		.life = life > agent->credits_life ? life : agent->credits_life + 1,
		.processors = node_processors(agent),
		.heartbeat_ms = config->heartbeat,
		/* a node that has a credit asks for a place before the time limit, or returns it */
		.lease_ms = config->heartbeat + config->time_limit,
	};
	struct credits *c;

	if (config->policy != CONFIG_IDLE)
		return 0;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	if (getrandom(&options.seed, sizeof(options.seed), GRND_NONBLOCK) < 0)
		options.seed = clock_us();
	c->told = UINT32_MAX;
	c->idle = eh_idle_new(&options);
	c->held = evtimer_new(agent->base, credits_on_held, agent);
	if (!c->idle || !c->held)
		goto free;
	agent->credits = c;
	agent->credits_life = options.life;
	return 0;
free:
	agent_free_event(&c->held);
	if (c->idle)
		eh_idle_free(c->idle);
	free(c);
	return -ENOMEM;
}

void credits_exit(struct agent *agent)
{
	struct credits *c = agent->credits;
	struct credits_want *w;

	if (!c)
		return;
	while ((w = c->wants)) {
		c->wants = w->next;
		credits_want_free(w);
	}
	agent->credits = NULL;
	event_free(c->held);
	eh_idle_free(c->idle);
	free(c);
}

void credits_reload(struct agent *agent, const struct config *old, unsigned int rank,
		    uint32_t parent)
{
	const struct config *now = agent->config;

	/* the other options are those of lib/eh, which keeps them */
	if (now->policy == old->policy && now->capacity == old->capacity &&
	    now->heartbeat == old->heartbeat && now->time_limit == old->time_limit)
		return;
	while (agent->credits && agent->credits->wants)
		credits_answered(agent, agent->credits->wants->id, NULL);
	credits_exit(agent);
	if (credits_init(agent)) {
		log_error("reload: out of memory: this node has no credits");
		return;
	}
	credits_role(agent, rank, parent);
	credits_touch(agent);
}
