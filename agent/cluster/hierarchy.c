// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This node in the hierarchy. A step of the member (lib/eh) lists what to do; this is done
 * after the step, because it may cause the next one. The immediate answers to a message, and the
 * answer to an ask whenever it comes, are sent as the HTTP answer; everything else is a request of
 * its own.
 */

#include "cluster/hierarchy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <linux/ehsched.h>
#include <jansson.h>
#include <event2/event.h>
#include <utlist.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/event.h"
#include "base/log.h"
#include "cluster/credits.h"
#include "cluster/own_roster.h"
#include "cluster/hierarchy_inside.h"
#include "cluster/message.h"
#include "cluster/report.h"
#include "cluster/withdraw.h"
#include "eh/eh.h"
#include "eh/member.h"
#include "eh/topology.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/peers.h"
#include "net/revoked.h"
#include "net/server.h"
#include "node/kernel.h"
#include "node/node.h"

/* An action that a step asks for. */
struct hierarchy_update {
	struct hierarchy_update *next;
	struct eh_member_update up;
	struct eh_message answer;
	json_t *body;
	enum eh_message_type type;
	uint64_t id; /* of the ask that is answered */
};

struct hierarchy_updates {
	struct agent *agent;
	struct hierarchy_update *first, **last;
	bool lost;
};

/* A received message that can still be answered. */
struct hierarchy_incoming {
	struct peer *from;
	struct server_answer *answer;
};

/* A peer's ask that was passed up. */
struct hierarchy_pending {
	struct hierarchy_pending *next;
	struct peer *from;
	uint64_t id, until;
	struct server_answer *answer;
};

static struct log_limit hierarchy_log;

static struct peer *hierarchy_peer(struct agent *agent, uint32_t node)
{
	return node == EH_NO_NODE ? NULL : peers_by_code(agent, (struct eh_code){ 0, node });
}

/* ---- out ---- */

/* Adds what the other side wants to know besides the member's own values. */
static json_t *hierarchy_message(struct agent *agent, const struct eh_message *msg)
{
	json_t *body = message_to_json(&agent->config->topology, msg);

	if (!body)
		return NULL;
	json_object_set_new(body, "top", json_string(peer_code(hierarchy_top(agent))));
	if (msg->type == EH_MSG_REPORT)
		json_object_set_new(body, "node", hierarchy_own_node(agent));
	json_object_set_new(body, "roster", json_integer((json_int_t)own_roster_version(agent)));
	if (revoked_number(agent))
		json_object_set_new(body, "revoked", json_integer(revoked_number(agent)));
	return body;
}

static int hierarchy_receive(struct agent *agent, struct peer *from, const json_t *body,
			     struct hierarchy_incoming *in);

static void hierarchy_on_reply(void *ctx, int status, const json_t *reply)
{
	struct peer *to = ctx;
	struct agent *agent = to->agent;

	if (!agent->hierarchy)
		return;
	if (status == 200 && json_object_size(reply))
		hierarchy_receive(agent, to, reply, NULL);
	else if (status != 200 && (status || !to->up) && to->known)
		/* No answer in time on a link that is up means slow; heartbeats decide. */
		hierarchy_step(agent, &(struct eh_member_event){ .type = EH_ME_GONE,
								 .node = to->code.index });
}

static void hierarchy_request(struct agent *agent, struct peer *to, json_t *body)
{
	/* Out of memory loses the message, as a broken link would: heartbeats repeat it. */
	(void)link_request(to, "/v1/control", body, 3 * to->agent->config->heartbeat,
			   hierarchy_on_reply, to);
}

/* The peer's ask with this id, taken from the list; NULL: none. */
static struct server_answer *hierarchy_take_pending(struct agent *agent, const struct peer *from,
						    uint64_t id)
{
	struct server_answer *answer;
	struct hierarchy_pending *p;

	for (p = agent->hierarchy->pending; p && (p->from != from || p->id != id); p = p->next)
		;
	if (!p)
		return NULL;
	LL_DELETE(agent->hierarchy->pending, p);
	answer = p->answer;
	free(p);
	return answer;
}

static void hierarchy_send(struct agent *agent, struct hierarchy_update *u,
			   struct hierarchy_incoming *in)
{
	struct peer *to = hierarchy_peer(agent, u->up.node);
	struct server_answer *answer = NULL;

	if (!to || !u->body)
		return;
	agent->hierarchy->counted.sent[u->type]++;
	if (u->type != EH_MSG_REPORT && u->type != EH_MSG_ASK) {
		if (in && in->answer && in->from == to) {
			answer = in->answer;
			in->answer = NULL;
		} else if (u->type == EH_MSG_ANSWER) {
			answer = hierarchy_take_pending(agent, to, u->id);
		}
	}
	if (answer)
		server_answer(answer, 200, u->body);
	else
		hierarchy_request(agent, to, u->body);
	u->body = NULL;
}

/* ---- what comes of a step ---- */

static void hierarchy_on_update(void *ctx, const struct eh_member_update *up)
{
	struct agent *agent = ((struct hierarchy_updates *)ctx)->agent;
	struct hierarchy_updates *list = ctx;
	struct hierarchy_update *u = calloc(1, sizeof(*u));

	if (!u) {
		list->lost = true;
		return;
	}
	u->up = *up;
	if (up->message) {
		u->type = up->message->type;
		if (u->type == EH_MSG_ANSWER)
			u->id = up->message->answer.ask.id;
		/* The message's lists end with the step; an answer has none that matter here. */
		if (up->type == EH_MU_SEND)
			u->body = hierarchy_message(agent, up->message);
		else
			u->answer = *up->message;
	}
	*list->last = u;
	list->last = &u->next;
}

static void hierarchy_threshold(struct agent *agent, const struct eh_member_update *up)
{
	const uint64_t threshold = up->threshold < EHS_MAX_LOAD ? up->threshold : EHS_MAX_LOAD;
	struct node_settings set = *node_settings(agent);
	char why[160];

	if (set.threshold == threshold)
		return;
	set.threshold = threshold;
	if (node_set(agent, &set, why)) {
		log_error("cannot set the threshold of epoch %llu: %s",
			  (unsigned long long)up->rule.epoch, why);
		return;
	}
	log_debug("threshold %.3f (epoch %llu)", threshold / 1000.0,
		  (unsigned long long)up->rule.epoch);
}

/* Of those that do not report to this node any more others will tell what becomes of them. */
static void hierarchy_unwatch(struct agent *agent)
{
	const struct eh_topology *t = &agent->config->topology;
	struct peer *p;

	for (p = peers_next(agent, NULL); p; p = peers_next(agent, p))
		if (p->told == PEER_TOLD_UP && !p->pinned)
			p->told = PEER_WAS_UP;
	for (unsigned int level = 1; level <= hierarchy_rank(agent); level++)
		for (unsigned int i = 0; i < 1u << t->n; i++) {
			struct eh_child child;
			uint32_t node;

			if (!eh_member_child(agent->hierarchy->member, level, i, &child, &node) &&
			    (p = hierarchy_peer(agent, node)))
				p->told = PEER_TOLD_UP;
		}
}

static void hierarchy_role(struct agent *agent, unsigned int rank, uint32_t parent)
{
	struct peer *now = hierarchy_peer(agent, parent);

	if (now != agent->hierarchy->parent) {
		if (agent->hierarchy->parent)
			link_pin(agent->hierarchy->parent, false);
		if (now)
			link_pin(now, true);
		agent->hierarchy->parent = now;
		agent->hierarchy->top_hint = now;
	}
	if (now)
		log_info("controller of %u level(s), reports to %s", rank, peer_code(now));
	else if (rank == agent->config->topology.l)
		log_info("controller of all %u level(s)", rank);
	else
		log_info("controller of %u level(s), looking for the controller above", rank);
	hierarchy_unwatch(agent);
	credits_role(agent, rank, parent);
	event_tell(agent, "controller",
		   json_pack("{s:s,s:i,s:s?}", "node", peer_code(hierarchy_controller(agent)),
			     "levels", (int)rank, "parent", now ? peer_code(now) : NULL));
}

static void hierarchy_child(struct agent *agent, const struct eh_member_update *up)
{
	struct eh_code group = { up->rank,
				 agent->self.index >> (agent->config->topology.n * up->rank) };
	struct peer *p = hierarchy_peer(agent, up->node);
	char text[EH_CODE_TEXT];

	if (!p)
		return;
	log_info("%s (%s) %s group %s%s%s", peer_code(p), peer_host(p),
		 up->gone ? "left" : "reports to this node in",
		 eh_code_format(&agent->config->topology, group, text),
		 up->gone && *p->trouble ? ": " : "", up->gone ? p->trouble : "");
	/* one whose link is up reports to another node, or its link says soon that it ended */
	if (!up->gone || !peer_is_up(p))
		link_tell(p, !up->gone);
}

static int hierarchy_step_in(struct agent *agent, const struct eh_member_event *event,
			     struct hierarchy_incoming *in)
{
	struct hierarchy_updates list = { .agent = agent, .last = &list.first };
	struct hierarchy_update *u;
	int err;

	if (!agent->hierarchy)
		return 0;
	err = eh_member_step(agent->hierarchy->member, event, clock_ms(), hierarchy_on_update,
			     &list);
	if ((list.lost || err == -ENOMEM) && log_allowed(&hierarchy_log))
		log_error("out of memory, or a node asks for too much: actions of the "
			  "hierarchy dropped");
	while ((u = list.first)) {
		list.first = u->next;
		switch (u->up.type) {
		case EH_MU_SEND:
			hierarchy_send(agent, u, in);
			break;
		case EH_MU_ANSWER:
			agent->hierarchy->ops->answered(agent, &u->answer);
			break;
		case EH_MU_THRESHOLD:
			hierarchy_threshold(agent, &u->up);
			break;
		case EH_MU_ROLE:
			hierarchy_role(agent, u->up.rank, u->up.parent);
			break;
		case EH_MU_CHILD:
			hierarchy_child(agent, &u->up);
			break;
		}
		json_decref(u->body);
		free(u);
	}
	return err;
}

void hierarchy_step(struct agent *agent, const struct eh_member_event *event)
{
	hierarchy_step_in(agent, event, NULL);
}

/* ---- own load ---- */

/* Not memcmp(), because of padding. */
static bool hierarchy_same(const struct eh_report *a, const struct eh_report *b)
{
	return a->load == b->load && a->threshold == b->threshold && a->length == b->length &&
	       a->floor == b->floor && a->capacity == b->capacity && a->nodes == b->nodes &&
	       a->draining == b->draining && a->dwell == b->dwell;
}

void hierarchy_touch_now(struct agent *agent)
{
	struct hierarchy *h = agent->hierarchy;
	uint64_t ids[EH_SEEN_MAX];
	struct report r;
	size_t n;

	if (!h)
		return;

	node_refresh(agent);
	credits_touch(agent);
	report_own(agent, &r);
	n = h->nseen;
	memcpy(ids, h->seen, n * sizeof(ids[0]));
	h->nseen = 0;
	n += h->ops->seen(agent, ids + n, EH_SEEN_MAX - n);
	if (eh_report_state(&r.own) != eh_report_state(&h->told))
		event_tell(agent, "state",
			   json_pack("{s:s,s:s,s:f}", "node", agent->code, "state",
				     report_state_name(eh_report_state(&r.own)), "load",
				     r.own.load / 1000.0));
	if (!n && hierarchy_same(&r.own, &h->told))
		return;
	h->told = r.own;
	hierarchy_step(agent, &(struct eh_member_event){
				      .type = EH_ME_LOAD,
				      .load = { .own = r.own, .seen = ids, .nseen = n } });
}

void hierarchy_guest_seen(struct agent *agent, uint64_t id)
{
	struct hierarchy *h = agent->hierarchy;

	/* When there is no room, the controller's grants expire by themselves. */
	if (h && h->nseen < EH_SEEN_MAX)
		h->seen[h->nseen++] = id;
}

void hierarchy_touch(struct agent *agent)
{
	if (agent->hierarchy && agent->hierarchy->soon)
		event_active(agent->hierarchy->soon, 0, 0);
}

void hierarchy_threshold_set(struct agent *agent)
{
	const struct node_settings *set = node_settings(agent);

	event_tell(agent, "threshold",
		   json_pack("{s:s,s:f,s:f,s:I}", "node", agent->code, "threshold",
			     set->threshold / 1000.0, "threshold_length", set->length / 1000.0,
			     "epoch", (json_int_t)hierarchy_epoch(agent)));
	hierarchy_touch(agent);
}

/* ---- in ---- */

/* A report is shown under the name of its sender, whatever name it gives. */
static void hierarchy_note(struct peer *from, const json_t *node)
{
	json_t *said = json_copy((json_t *)node);

	if (!said || json_object_set_new(said, "code", json_string(peer_code(from))) ||
	    json_object_set_new(said, "host", json_string(peer_host(from)))) {
		json_decref(said);
		return;
	}
	json_decref(from->said);
	from->said = said;
}

static int hierarchy_take(struct agent *agent, struct peer *from, const json_t *body,
			  struct message *msg)
{
	const json_t *node = json_object_get(body, "node");
	const char *top = json_string_value(json_object_get(body, "top"));
	int err = message_from_json(&agent->config->topology, body, msg);

	if (err)
		return err;
	agent->hierarchy->counted.received[msg->body.type]++;
	if (msg->body.type == EH_MSG_LEAVE)
		link_tell(from, false);
	if (json_is_object(node))
		hierarchy_note(from, node);
	if (top && from == agent->hierarchy->parent && peers_by_text(agent, top))
		agent->hierarchy->top_hint = peers_by_text(agent, top);
	own_roster_seen(from, body);
	withdraw_seen(from, body);
	return 0;
}

/* 0; -EINVAL: not a message, or impossible values; -EPERM: not the sender's to say. */
static int hierarchy_receive(struct agent *agent, struct peer *from, const json_t *body,
			     struct hierarchy_incoming *in)
{
	struct message msg;
	int err = hierarchy_take(agent, from, body, &msg);

	if (!err)
		err = hierarchy_step_in(
			agent,
			&(struct eh_member_event){ .type = EH_ME_MESSAGE,
						   .message = { from->code.index, &msg.body } },
			in);
	if ((err == -EINVAL || err == -EPERM) && log_allowed(&hierarchy_log))
		log_warning("%s (%s) sent a message of the hierarchy that %s", peer_code(from),
			    peer_host(from),
			    err == -EPERM ? "is not for it to send" : "is invalid");
	return err;
}

static void hierarchy_wait(struct agent *agent, struct hierarchy_incoming *in, uint64_t id)
{
	struct hierarchy_pending *p = malloc(sizeof(*p));

	if (!p)
		return;
	*p = (struct hierarchy_pending){ .from = in->from,
					 .id = id,
					 .until = clock_ms() + 3ull * agent->config->heartbeat,
					 .answer = in->answer };
	in->answer = NULL;
	LL_PREPEND(agent->hierarchy->pending, p);
}

void hierarchy_on_message(struct agent *agent, struct peer *from, const json_t *body,
			  struct server_answer *answer)
{
	struct hierarchy_incoming in = { from, answer };
	const char *type = json_string_value(json_object_get(body, "type"));
	int err;

	err = from->self ? -EINVAL : hierarchy_receive(agent, from, body, &in);
	if (err == -EINVAL || err == -EPERM) {
		server_refuse(answer, err == -EPERM ? 403 : 400,
			      err == -EPERM ? "the sender may not say this"
					    : "not a hierarchy message");
		return;
	}
	if (in.answer && !strcmp(type, eh_message_name(EH_MSG_ASK)))
		hierarchy_wait(agent, &in, json_integer_value(json_object_get(body, "id")));
	if (in.answer)
		server_answer(in.answer, 200, NULL);
}

/* ---- time and peers ---- */

/* Runs once for all changes in a round of the loop. */
static void hierarchy_on_soon(evutil_socket_t fd, short what, void *arg)
{
	struct agent *agent = arg;
	hierarchy_touch_now(agent);
}

/* Of all nodes; 0: this one is not the top. */
static uint64_t hierarchy_capacity(struct agent *agent)
{
	struct eh_sums sums;

	return eh_member_sums(hierarchy_member(agent), agent->config->topology.l, &sums)
		       ? 0
		       : sums.capacity;
}

static void hierarchy_on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct agent *agent = arg;
	struct hierarchy_pending *p, *next;

	hierarchy_touch_now(agent);
	hierarchy_step(agent, &(struct eh_member_event){ .type = EH_ME_TICK });
	agent->hierarchy->ops->tick(agent);
	credits_tick(agent, hierarchy_capacity(agent));
	LL_FOREACH_SAFE(agent->hierarchy->pending, p, next)
	{
		if (clock_ms() < p->until)
			continue;
		LL_DELETE(agent->hierarchy->pending, p);
		server_answer(p->answer, 200, NULL);
		free(p);
	}
}

void hierarchy_peer_changed(struct peer *p)
{
	struct agent *agent = p->agent;
	if (p->self || p->up || p->down == PEER_UNLINKED)
		return;
	hierarchy_step(agent,
		       &(struct eh_member_event){ .type = EH_ME_GONE, .node = p->code.index });
	credits_gone(p);
}

void hierarchy_peer_known(struct peer *p)
{
	struct agent *agent = p->agent;
	if (!p->self)
		hierarchy_step(agent, &(struct eh_member_event){ .type = p->known ? EH_ME_KNOWN
										  : EH_ME_UNKNOWN,
								 .node = p->code.index });
}

/* ---- set-up ---- */

static void hierarchy_free(struct hierarchy *h)
{
	agent_free_event(&h->timer);
	agent_free_event(&h->soon);
	eh_member_free(h->member);
	free(h);
}

int hierarchy_init(struct agent *agent, const struct hierarchy_ops *ops)
{
	struct eh_member_options options = {
		.topology = agent->config->topology,
		.self = agent->self.index,
		.heartbeat_ms = agent->config->heartbeat,
		.grant_ms = agent->config->lease,
		.calm_ms = 2 * agent->config->heartbeat,
		.least = true,
		.lazy = agent->config->lazy,
	};
	const unsigned int ms = agent->config->heartbeat / 8 + 1;
	struct hierarchy *h = calloc(1, sizeof(*h));
	struct peer *p;

	if (!h)
		return -ENOMEM;
	if (getrandom(&options.seed, sizeof(options.seed), GRND_NONBLOCK) < 0)
		options.seed = clock_us();
	h->ops = ops;
	h->member = eh_member_new(&options);
	h->timer = event_new(agent->base, -1, EV_PERSIST, hierarchy_on_tick, agent);
	h->soon = event_new(agent->base, -1, 0, hierarchy_on_soon, agent);
	if (!h->member || !h->timer || !h->soon) {
		hierarchy_free(h);
		return -ENOMEM;
	}
	agent->hierarchy = h;
	clock_arm(agent->hierarchy->timer, ms);
	hierarchy_touch_now(agent);
	for (p = peers_next(agent, NULL); p; p = peers_next(agent, p))
		hierarchy_peer_known(p);
	return 0;
}

void hierarchy_leave(struct agent *agent)
{
	hierarchy_step(agent, &(struct eh_member_event){ .type = EH_ME_LEAVE });
}

void hierarchy_exit(struct agent *agent)
{
	struct hierarchy *h = agent->hierarchy;
	struct hierarchy_pending *p;

	if (!h)
		return;
	while ((p = h->pending)) {
		h->pending = p->next;
		server_answer(p->answer, 503, NULL);
		free(p);
	}
	agent->hierarchy = NULL;
	hierarchy_free(h);
}
