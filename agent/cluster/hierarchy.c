// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This node in the hierarchy. A step of the member (lib/eh) says what is to be
 * done; it is done after the step, as it may lead to the next one. Answers that
 * a message has at once, and an ask's whenever it comes, are the HTTP answer to
 * it; everything else is a request of its own.
 */

#include "cluster/hierarchy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <linux/ehsched.h>
#include <jansson.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/event.h"
#include "base/log.h"
#include "cluster/ask.h"
#include "cluster/enrol.h"
#include "cluster/message.h"
#include "cluster/report.h"
#include "eh/member.h"
#include "eh/role.h"
#include "eh/rule.h"
#include "eh/topology.h"
#include "executor/reserve.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/server.h"
#include "node/node.h"

static struct eh_member *hierarchy_the_member;
static struct event *hierarchy_timer, *hierarchy_soon;
static struct peer *hierarchy_parent, *hierarchy_top_hint;
static struct eh_report hierarchy_told; /* to the member */
static struct hierarchy_counts hierarchy_counted;

/* What a step wants done. */
struct hierarchy_update {
	struct hierarchy_update *next;
	struct eh_member_update up;
	struct eh_message answer;
	json_t *body;
	enum eh_message_type type;
	uint64_t id;
};

struct hierarchy_updates {
	struct hierarchy_update *first, **last;
	bool lost;
};

/* A message that was received, while it can be answered. */
struct hierarchy_incoming {
	struct peer *from;
	struct server_answer *answer;
};

/* An ask of a peer that went further up. */
struct hierarchy_pending {
	struct hierarchy_pending *next;
	struct peer *from;
	uint64_t id, until;
	struct server_answer *answer;
};
static struct hierarchy_pending *hierarchy_pending;

static const struct eh_topology *hierarchy_topology(void)
{
	return &the_agent.config->topology;
}

static struct peer *hierarchy_peer(uint32_t node)
{
	return node == EH_NO_NODE ? NULL : peer_by_code((struct eh_code){ 0, node });
}

/* ---- out ---- */

/* What the other side wants to know beside the member's own values. */
static json_t *hierarchy_message(const struct eh_message *msg)
{
	json_t *body = message_to_json(hierarchy_topology(), msg);

	if (!body)
		return NULL;
	json_object_set_new(body, "top", json_string(peer_code(hierarchy_top())));
	if (msg->type == EH_MSG_REPORT)
		json_object_set_new(body, "node", hierarchy_own_node());
	json_object_set_new(body, "roster", json_integer((json_int_t)enrol_version()));
	return body;
}

static int hierarchy_receive(struct peer *from, const json_t *body, struct hierarchy_incoming *in);

struct hierarchy_call {
	struct peer *to;
};

static void hierarchy_on_reply(void *ctx, int status, const json_t *reply)
{
	struct hierarchy_call *call = ctx;
	struct peer *to = call->to;

	free(call);
	if (!hierarchy_the_member)
		return;
	if (status == 200 && json_object_size(reply))
		hierarchy_receive(to, reply, NULL);
	else if (status != 200 && (status || !to->up) && to->known)
		/* an up link with no answer in time is only slow: heartbeats will tell */
		hierarchy_step(
			&(struct eh_member_event){ .type = EH_ME_GONE, .node = to->code.index });
}

static void hierarchy_request(struct peer *to, json_t *body)
{
	struct hierarchy_call *call = malloc(sizeof(*call));

	if (!call) {
		json_decref(body);
		return;
	}
	call->to = to;
	if (link_request(to, "/v1/control", body, 3 * the_agent.config->heartbeat,
			 hierarchy_on_reply, call))
		free(call);
}

/* The question of this peer that this answers; NULL: none. */
static struct server_answer *hierarchy_take_pending(const struct peer *from, uint64_t id)
{
	struct hierarchy_pending **at, *p;
	struct server_answer *answer;

	for (at = &hierarchy_pending; (p = *at); at = &p->next) {
		if (p->from != from || p->id != id)
			continue;
		*at = p->next;
		answer = p->answer;
		free(p);
		return answer;
	}
	return NULL;
}

static void hierarchy_send(struct hierarchy_update *u, struct hierarchy_incoming *in)
{
	struct peer *to = hierarchy_peer(u->up.node);
	struct server_answer *answer = NULL;

	if (!to || !u->body)
		return;
	hierarchy_counted.sent[u->type]++;
	if (u->type != EH_MSG_REPORT && u->type != EH_MSG_ASK) {
		if (in && in->answer && in->from == to) {
			answer = in->answer;
			in->answer = NULL;
		} else if (u->type == EH_MSG_ANSWER) {
			answer = hierarchy_take_pending(to, u->id);
		}
	}
	if (answer)
		server_answer(answer, 200, u->body);
	else
		hierarchy_request(to, u->body);
	u->body = NULL;
}

/* ---- what comes of a step ---- */

static void hierarchy_on_update(void *ctx, const struct eh_member_update *up)
{
	struct hierarchy_updates *list = ctx;
	struct hierarchy_update *u = calloc(1, sizeof(*u));

	if (!u) {
		list->lost = true;
		return;
	}
	u->up = *up;
	if (up->message) {
		u->type = up->message->type;
		u->id = up->message->id;
		/* its lists end with the step; an answer has none that matter here */
		if (up->type == EH_MU_SEND)
			u->body = hierarchy_message(up->message);
		else
			u->answer = *up->message;
	}
	*list->last = u;
	list->last = &u->next;
}

static void hierarchy_threshold(const struct eh_member_update *up)
{
	struct node_settings set = *node_settings();
	char why[160];

	if (up->threshold > EHS_MAX_LOAD || set.threshold == up->threshold)
		return;
	set.threshold = up->threshold;
	if (node_set(&set, why)) {
		log_error("the threshold of epoch %llu cannot be set: %s",
			  (unsigned long long)up->rule.epoch, why);
		return;
	}
	log_debug("threshold %.3f (epoch %llu)", up->threshold / 1000.0,
		  (unsigned long long)up->rule.epoch);
	hierarchy_threshold_set();
}

static void hierarchy_role(unsigned int rank, uint32_t parent)
{
	struct peer *now = hierarchy_peer(parent);

	if (now != hierarchy_parent) {
		if (hierarchy_parent)
			peer_pin(hierarchy_parent, false);
		if (now)
			peer_pin(now, true);
		hierarchy_parent = now;
		hierarchy_top_hint = now;
	}
	if (now)
		log_info("leads %u level(s), reports to %s", rank, peer_code(now));
	else if (rank == hierarchy_topology()->l)
		log_info("leads all %u level(s)", rank);
	else
		log_info("leads %u level(s), looks for the controller above", rank);
	event_tell(&the_agent, "controller",
		   json_pack("{s:s,s:i,s:s?}", "node", peer_code(hierarchy_controller()), "levels",
			     (int)rank, "parent", now ? peer_code(now) : NULL));
}

static void hierarchy_child(const struct eh_member_update *up)
{
	struct eh_code group = { up->rank,
				 the_agent.self.index >> (hierarchy_topology()->n * up->rank) };
	struct peer *p = hierarchy_peer(up->node);
	char text[EH_CODE_TEXT];

	if (!p)
		return;
	log_info("%s (%s) %s group %s%s%s", peer_code(p), peer_host(p),
		 up->gone ? "is gone from" : "reports to us in",
		 eh_code_format(hierarchy_topology(), group, text),
		 up->gone && *p->trouble ? ": " : "", up->gone ? p->trouble : "");
	event_tell(&the_agent, "peer",
		   json_pack("{s:s,s:s,s:s}", "node", peer_code(p), "host", peer_host(p), "agent",
			     up->gone ? "down" : "up"));
}

static int hierarchy_step_in(const struct eh_member_event *event, struct hierarchy_incoming *in)
{
	struct hierarchy_updates list = { .last = &list.first };
	struct hierarchy_update *u;
	int err;

	if (!hierarchy_the_member)
		return 0;
	err = eh_member_step(hierarchy_the_member, event, clock_ms(), hierarchy_on_update, &list);
	if (list.lost || err == -ENOMEM)
		log_error("no memory for all a step of the hierarchy wants done");
	while ((u = list.first)) {
		list.first = u->next;
		switch (u->up.type) {
		case EH_MU_SEND:
			hierarchy_send(u, in);
			break;
		case EH_MU_ANSWER:
			ask_answered(&u->answer);
			break;
		case EH_MU_THRESHOLD:
			hierarchy_threshold(&u->up);
			break;
		case EH_MU_ROLE:
			hierarchy_role(u->up.rank, u->up.parent);
			break;
		case EH_MU_CHILD:
			hierarchy_child(&u->up);
			break;
		}
		json_decref(u->body);
		free(u);
	}
	return err;
}

void hierarchy_step(const struct eh_member_event *event)
{
	hierarchy_step_in(event, NULL);
}

/* ---- in ---- */

static int hierarchy_take(struct peer *from, const json_t *body, struct message *msg)
{
	const json_t *node = json_object_get(body, "node");
	const char *top = json_string_value(json_object_get(body, "top"));
	int err = message_from_json(hierarchy_topology(), body, msg);

	if (err)
		return err;
	hierarchy_counted.received[msg->body.type]++;
	if (json_is_object(node)) {
		json_decref(from->said);
		from->said = json_incref((json_t *)node);
	}
	if (top && from == hierarchy_parent && peer_by_text(top))
		hierarchy_top_hint = peer_by_text(top);
	enrol_seen(from, body);
	return 0;
}

/* 0, or -EINVAL: it is no message, or one with values that cannot be. */
static int hierarchy_receive(struct peer *from, const json_t *body, struct hierarchy_incoming *in)
{
	struct message msg;
	int err = hierarchy_take(from, body, &msg);

	if (!err)
		err = hierarchy_step_in(&(struct eh_member_event){ .type = EH_ME_MESSAGE,
								   .node = from->code.index,
								   .message = &msg.body },
					in);
	if (err == -EINVAL)
		log_warning("%s sent what is no message of the hierarchy", peer_code(from));
	return err;
}

static void hierarchy_wait(struct hierarchy_incoming *in, uint64_t id)
{
	struct hierarchy_pending *p = malloc(sizeof(*p));

	if (!p)
		return;
	*p = (struct hierarchy_pending){ .next = hierarchy_pending,
					 .from = in->from,
					 .id = id,
					 .until = clock_ms() + 3ull * the_agent.config->heartbeat,
					 .answer = in->answer };
	in->answer = NULL;
	hierarchy_pending = p;
}

void hierarchy_on_message(struct peer *from, const json_t *body, struct server_answer *answer)
{
	struct hierarchy_incoming in = { from, answer };
	const char *type = json_string_value(json_object_get(body, "type"));

	if (from->self || hierarchy_receive(from, body, &in) == -EINVAL) {
		server_answer(answer, 400,
			      json_pack("{s:s}", "error", "not a message of the hierarchy"));
		return;
	}
	if (in.answer && !strcmp(type, eh_message_name(EH_MSG_ASK)))
		hierarchy_wait(&in, json_integer_value(json_object_get(body, "id")));
	if (in.answer)
		server_answer(in.answer, 200, NULL);
}

json_t *hierarchy_on_drain(struct peer *from, const json_t *body, int *status)
{
	const json_t *flag = json_object_get(body, "draining");

	if (!json_is_boolean(flag)) {
		*status = 400;
		return json_pack("{s:s}", "error", "draining is missing");
	}
	the_agent.draining = json_is_true(flag);
	log_info("%s by %s", the_agent.draining ? "drained" : "undrained", peer_code(from));
	hierarchy_touch();
	return json_object();
}

/* ---- own load ---- */

/* Not memcmp(): what is between the members may differ. */
static bool hierarchy_same(const struct eh_report *a, const struct eh_report *b)
{
	return a->load == b->load && a->threshold == b->threshold && a->length == b->length &&
	       a->floor == b->floor && a->capacity == b->capacity && a->nodes == b->nodes &&
	       a->draining == b->draining;
}

void hierarchy_touch_now(void)
{
	const json_t *id;
	json_t *seen = reserve_take_seen();
	uint64_t ids[EH_SEEN_MAX];
	struct eh_report now;
	struct report r;
	size_t i, n = 0;

	node_refresh();
	report_own(&r);
	json_array_foreach(seen, i, id)
		if (n < EH_SEEN_MAX)
			ids[n++] = report_id(json_string_value(id));
	json_decref(seen);
	n += ask_take_seen(ids + n, EH_SEEN_MAX - n);
	now = (struct eh_report){ .load = r.load,
				  .threshold = r.threshold,
				  .length = r.length,
				  .floor = r.floor,
				  .capacity = r.capacity,
				  .draining = r.draining,
				  .nodes = 1 };
	if (eh_state(now.load, now.threshold, now.length) !=
	    eh_state(hierarchy_told.load, hierarchy_told.threshold, hierarchy_told.length))
		event_tell(&the_agent, "state",
			   json_pack("{s:s,s:s,s:f}", "node", the_agent.code, "state",
				     report_state_name(r.state), "load", r.load / 1000.0));
	if (!n && hierarchy_same(&now, &hierarchy_told))
		return;
	hierarchy_told = now;
	hierarchy_step(&(struct eh_member_event){
		.type = EH_ME_LOAD, .report = now, .seen = ids, .nseen = n });
}

/* Runs once for all that happened in a round of the loop. */
static void hierarchy_on_soon(evutil_socket_t fd, short what, void *arg)
{
	hierarchy_touch_now();
}

void hierarchy_touch(void)
{
	if (hierarchy_soon)
		event_active(hierarchy_soon, 0, 0);
}

void hierarchy_threshold_set(void)
{
	const struct node_settings *set = node_settings();

	event_tell(&the_agent, "threshold",
		   json_pack("{s:s,s:f,s:f,s:I}", "node", the_agent.code, "threshold",
			     set->threshold / 1000.0, "threshold_length", set->length / 1000.0,
			     "epoch", (json_int_t)hierarchy_epoch()));
	hierarchy_touch();
}

static void hierarchy_on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct hierarchy_pending **at = &hierarchy_pending, *p;

	hierarchy_touch_now();
	hierarchy_step(&(struct eh_member_event){ .type = EH_ME_TICK });
	ask_tick();
	while ((p = *at)) {
		if (clock_ms() < p->until) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		server_answer(p->answer, 200, NULL);
		free(p);
	}
}

/* ---- peers ---- */

void hierarchy_peer_changed(struct peer *p)
{
	if (!p->self && !p->up && p->down != PEER_UNLINKED)
		hierarchy_step(
			&(struct eh_member_event){ .type = EH_ME_GONE, .node = p->code.index });
}

void hierarchy_peer_known(struct peer *p)
{
	if (!p->self)
		hierarchy_step(&(struct eh_member_event){
			.type = p->known ? EH_ME_KNOWN : EH_ME_UNKNOWN, .node = p->code.index });
}

/* ---- what others want to know ---- */

struct peer *hierarchy_controller(void)
{
	return hierarchy_rank() || !hierarchy_parent ? peer_self() : hierarchy_parent;
}

struct peer *hierarchy_top(void)
{
	if (hierarchy_parent && hierarchy_top_hint && hierarchy_top_hint->known)
		return hierarchy_top_hint;
	return peer_self();
}

unsigned int hierarchy_rank(void)
{
	return hierarchy_the_member ? eh_member_rank(hierarchy_the_member) : 0;
}

const struct eh_member *hierarchy_member(void)
{
	return hierarchy_the_member;
}

uint64_t hierarchy_epoch(void)
{
	return hierarchy_the_member ? eh_member_rule(hierarchy_the_member).epoch : 0;
}

const struct hierarchy_counts *hierarchy_counts(void)
{
	return &hierarchy_counted;
}

json_t *hierarchy_own_node(void)
{
	json_t *of = json_array();
	struct report r;

	for (unsigned int level = 1; level <= hierarchy_rank(); level++) {
		struct eh_code group = { level, the_agent.self.index >>
							(hierarchy_topology()->n * level) };
		char text[EH_CODE_TEXT];

		json_array_append_new(
			of, json_string(eh_code_format(hierarchy_topology(), group, text)));
	}
	report_own(&r);
	r.load = node_load();
	return report_node(&r, the_agent.code, peer_host(peer_self()), of);
}

/* ---- set-up ---- */

int hierarchy_init(void)
{
	struct eh_member_options options = {
		.topology = the_agent.config->topology,
		.self = the_agent.self.index,
		.heartbeat_ms = the_agent.config->heartbeat,
		.grant_ms = the_agent.config->lease,
		.calm_ms = 2 * the_agent.config->heartbeat,
		.least = true,
		.lazy = the_agent.config->lazy,
	};
	const unsigned int ms = the_agent.config->heartbeat / 8 + 1;
	const struct timeval tick = { ms / 1000, ms % 1000 * 1000 };
	struct peer *p;

	if (getrandom(&options.seed, sizeof(options.seed), GRND_NONBLOCK) < 0)
		options.seed = clock_us();
	hierarchy_the_member = eh_member_new(&options);
	hierarchy_timer = event_new(the_agent.base, -1, EV_PERSIST, hierarchy_on_tick, NULL);
	hierarchy_soon = event_new(the_agent.base, -1, 0, hierarchy_on_soon, NULL);
	if (!hierarchy_the_member || !hierarchy_timer || !hierarchy_soon)
		return -ENOMEM;
	evtimer_add(hierarchy_timer, &tick);
	hierarchy_touch_now();
	for (p = peer_next(NULL); p; p = peer_next(p))
		hierarchy_peer_known(p);
	return 0;
}

void hierarchy_leave(void)
{
	hierarchy_step(&(struct eh_member_event){ .type = EH_ME_LEAVE });
}

void hierarchy_exit(void)
{
	struct hierarchy_pending *p;

	while ((p = hierarchy_pending)) {
		hierarchy_pending = p->next;
		server_answer(p->answer, 503, NULL);
		free(p);
	}
	if (hierarchy_timer)
		event_free(hierarchy_timer);
	if (hierarchy_soon)
		event_free(hierarchy_soon);
	hierarchy_timer = hierarchy_soon = NULL;
	eh_member_free(hierarchy_the_member);
	hierarchy_the_member = NULL;
}
