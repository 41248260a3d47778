// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Member's role: who the controller is, what it is told and asked, which
 * threshold it has decided. The controller's role is group.c; where both are
 * this agent, they call each other without the network.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "clock.h"
#include "control.h"
#include "group.h"
#include "h2.h"
#include "node.h"
#include "reason.h"
#include "report.h"

#define CONTROL_TICK_MS 250

static struct peer *control_now;
static struct event *control_timer, *control_soon;
static uint64_t control_threshold_epoch;
static struct report control_last; /* what the controller was told last */
static uint64_t control_told_at;
static bool control_force, control_under_way;

/* ---- who is who ---- */

static bool control_same_group(const struct peer *p)
{
	struct eh_code ours = eh_code_parent(&agent.config->topology, agent.self);
	struct eh_code its = eh_code_parent(&agent.config->topology, p->code);

	return ours.level == its.level && ours.index == its.index;
}

static struct peer *control_elect(void)
{
	struct peer *p, *best = peer_self();

	for (p = peer_next(NULL); p; p = peer_next(p))
		if (p->up && control_same_group(p) && p->code.index < best->code.index)
			best = p;
	return best;
}

struct peer *control_controller(void)
{
	return control_now;
}

uint64_t control_epoch(void)
{
	return control_threshold_epoch;
}

static void control_report_now(void)
{
	control_force = true;
	event_active(control_soon, 0, 0);
}

/* Who may become the controller is watched all the time. */
static void control_pin_group(void)
{
	struct peer *p;

	for (p = peer_next(NULL); p; p = peer_next(p))
		peer_pin(p, control_same_group(p));
}

void control_peer_changed(struct peer *peer)
{
	struct peer *best = control_elect();

	if (!peer->up && !peer->self && control_same_group(peer))
		group_leave(peer);
	if (best != control_now) {
		control_now = best;
		log_info("%s is the controller", best->self ? "this node" : peer_code(best));
		api_event("controller", json_pack("{s:s}", "node", peer_code(best)));
		if (!best->self)
			group_end();
		else if (group_begin())
			log_error("no memory to be the controller; tasks stay at home");
	}
	control_report_now();
}

/* ---- reports ---- */

void control_threshold_set(void)
{
	const struct node_settings *set = node_settings();

	api_event("threshold",
		  json_pack("{s:s,s:f,s:f,s:I}", "node", agent.code, "threshold",
			    set->threshold / 1000.0, "threshold_length", set->length / 1000.0,
			    "epoch", (json_int_t)control_threshold_epoch));
	control_report_now();
}

static void control_apply(uint64_t epoch, uint64_t threshold, uint64_t length)
{
	struct node_settings set = *node_settings();
	char why[160];

	if (epoch <= control_threshold_epoch || threshold > EHS_MAX_LOAD || length > EHS_MAX_LOAD)
		return;
	control_threshold_epoch = epoch;
	if (set.threshold == threshold && set.length == length)
		return;
	set.threshold = threshold;
	set.length = length;
	if (node_set(&set, why)) {
		log_error("the threshold of epoch %llu cannot be set: %s",
			  (unsigned long long)epoch, why);
		return;
	}
	log_debug("threshold %.3f, length %.3f (epoch %llu)", threshold / 1000.0, length / 1000.0,
		  (unsigned long long)epoch);
	control_threshold_set();
}

static void control_on_reported(void *ctx, int status, const json_t *reply)
{
	uint64_t epoch, threshold, length;

	control_under_way = false;
	if (status != 200) {
		/* not told: the next tick tries again */
		control_told_at = 0;
		return;
	}
	if (!report_number(reply, "epoch", INT64_MAX, &epoch) &&
	    !report_number(reply, "threshold", EHS_MAX_LOAD, &threshold) &&
	    !report_number(reply, "length", EHS_MAX_LOAD, &length))
		control_apply(epoch, threshold, length);
	/* what happened meanwhile */
	control_touch();
}

static void control_tell_self(const struct report *r)
{
	struct group_order order;
	json_t *seen = guest_take_seen();

	if (!group_report(control_now, r, seen, &order))
		control_apply(order.epoch, order.threshold, order.length);
	json_decref(seen);
}

static void control_tell(const struct report *r)
{
	json_t *body;

	if (r->state != control_last.state)
		api_event("state",
			  json_pack("{s:s,s:s,s:f}", "node", agent.code, "state",
				    report_state_name(r->state), "load", r->load / 1000.0));
	control_last = *r;
	control_told_at = clock_ms();
	control_force = false;
	if (control_now->self) {
		control_tell_self(r);
		return;
	}
	body = report_to_json(r, guest_take_seen());
	if (!body)
		return;
	if (!h2_request(control_now, "/v1/report", body, 3 * agent.config->heartbeat,
			control_on_reported, NULL))
		control_under_way = true;
}

/* Runs once for all that happened in a round of the loop. */
static void control_on_soon(evutil_socket_t fd, short what, void *arg)
{
	struct report now;

	/* one at a time: what comes meanwhile is merged into the next */
	if (!control_now || (control_under_way && !control_now->self))
		return;
	node_refresh();
	report_own(&now);
	if (control_force || report_matters(&control_last, &now))
		control_tell(&now);
}

void control_touch(void)
{
	if (control_soon)
		event_active(control_soon, 0, 0);
}

static void control_on_tick(evutil_socket_t fd, short what, void *arg)
{
	group_tick();
	if (clock_ms() - control_told_at >= agent.config->heartbeat)
		control_report_now();
}

/* ---- asking ---- */

struct control_question {
	control_fn done;
	void *ctx;
};

static void control_on_answer(void *ctx, int status, const json_t *reply)
{
	const char *to = json_string_value(json_object_get(reply, "to"));
	struct control_question *q = ctx;
	const char *name = json_string_value(json_object_get(reply, "reason"));
	enum ehs_reason reason = EHS_REASON_NO_RECEIVER;
	struct peer *peer = to ? peer_by_text(to) : NULL;
	uint64_t probes = 0;

	if (status != 200) {
		reason = EHS_REASON_NO_CONTROLLER;
	} else {
		report_number(reply, "probes", UINT32_MAX, &probes);
		if (name)
			reason_parse(name, &reason);
	}
	q->done(q->ctx, peer, reason, probes);
	free(q);
}

void control_ask(const char *id, uint64_t size, struct peer *const *tried, unsigned int ntried,
		 unsigned int time_ms, control_fn done, void *ctx)
{
	struct control_question *q;
	struct group_choice choice;
	json_t *body, *codes;

	node_refresh();
	if (control_now && control_now->self) {
		if (group_ask(control_now, id, size, node_load(), tried, ntried, &choice))
			done(ctx, NULL, EHS_REASON_NO_CONTROLLER, 0);
		else
			done(ctx, choice.to, choice.reason, choice.probes);
		return;
	}
	q = malloc(sizeof(*q));
	codes = json_array();
	for (unsigned int i = 0; i < ntried; i++)
		json_array_append_new(codes, json_string(peer_code(tried[i])));
	body = json_pack("{s:s,s:I,s:I,s:o}", "id", id, "size", (json_int_t)size, "load",
			 (json_int_t)node_load(), "tried", codes);
	if (!q || !body) {
		json_decref(body);
		goto no_controller;
	}
	q->done = done;
	q->ctx = ctx;
	if (control_now && !h2_request(control_now, "/v1/ask", body, time_ms, control_on_answer, q))
		return;
	if (!control_now)
		json_decref(body);
no_controller:
	free(q);
	done(ctx, NULL, EHS_REASON_NO_CONTROLLER, 0);
}

static void control_on_nothing(void *ctx, int status, const json_t *reply)
{
	/* only saves the controller the wait for the grant's end */
}

void control_failed(const char *id, struct peer *to)
{
	json_t *body;

	if (!control_now)
		return;
	if (control_now->self) {
		group_failed(id, to);
		return;
	}
	body = json_pack("{s:s,s:s}", "id", id, "to", peer_code(to));
	if (body)
		h2_request(control_now, "/v1/failed", body, agent.config->heartbeat,
			   control_on_nothing, NULL);
}

/* ---- handlers ---- */

static json_t *control_refuse(int *status, int code, const char *why)
{
	*status = code;
	return json_pack("{s:s}", "error", why);
}

json_t *control_on_report(struct peer *from, const json_t *body, int *status)
{
	struct group_order order;
	struct report r;

	if (report_from_json(&r, body))
		return control_refuse(status, 400, "not a report");
	if (!group_active() || !control_same_group(from))
		return control_refuse(status, 409, "not the controller");
	if (group_report(from, &r, json_object_get(body, "seen"), &order))
		return control_refuse(status, 503, "no memory");
	return json_pack("{s:I,s:I,s:I}", "epoch", (json_int_t)order.epoch, "threshold",
			 (json_int_t)order.threshold, "length", (json_int_t)order.length);
}

json_t *control_on_ask(struct peer *from, const json_t *body, int *status)
{
	const char *id = json_string_value(json_object_get(body, "id"));
	const json_t *codes = json_object_get(body, "tried"), *code;
	struct peer *tried[1 << EH_N_MAX];
	struct group_choice choice;
	unsigned int ntried = 0;
	uint64_t size, load;
	size_t i;

	if (!id || report_number(body, "size", UINT32_MAX, &size) ||
	    report_number(body, "load", UINT32_MAX, &load))
		return control_refuse(status, 400, "not a question: id, size, load");
	json_array_foreach((json_t *)codes, i, code) {
		struct peer *p =
			json_is_string(code) ? peer_by_text(json_string_value(code)) : NULL;

		if (p && control_same_group(p) && ntried < sizeof(tried) / sizeof(tried[0]))
			tried[ntried++] = p;
	}
	if (!control_same_group(from) || group_ask(from, id, size, load, tried, ntried, &choice))
		return control_refuse(status, 409,
				      "not your controller, or no report from you yet");
	return json_pack("{s:s?,s:s,s:i,s:s}", "to", choice.to ? peer_code(choice.to) : NULL,
			 "reason", reason_name(choice.reason), "probes", (int)choice.probes,
			 "found", report_state_name(choice.found));
}

json_t *control_on_failed(struct peer *from, const json_t *body, int *status)
{
	const char *id = json_string_value(json_object_get(body, "id"));
	const char *to = json_string_value(json_object_get(body, "to"));
	struct peer *peer = to ? peer_by_text(to) : NULL;

	if (!id || !peer || !control_same_group(peer))
		return control_refuse(status, 400, "id, or to is no node of this group");
	group_failed(id, peer);
	return json_object();
}

json_t *control_on_threshold(struct peer *from, const json_t *body, int *status)
{
	uint64_t epoch, threshold, length;

	if (report_number(body, "epoch", INT64_MAX, &epoch) ||
	    report_number(body, "threshold", EHS_MAX_LOAD, &threshold) ||
	    report_number(body, "length", EHS_MAX_LOAD, &length))
		return control_refuse(status, 400, "not a threshold: epoch, threshold, length");
	control_apply(epoch, threshold, length);
	return json_object();
}

json_t *control_nodes(void)
{
	return group_nodes();
}

json_t *control_own_node(void)
{
	struct eh_code parent = eh_code_parent(&agent.config->topology, agent.self);
	char of[EH_CODE_TEXT];
	struct report r;

	node_refresh();
	report_own(&r);
	r.load = node_load();
	return report_node(&r, agent.code, peer_host(peer_self()),
			   group_active() ? eh_code_format(&agent.config->topology, parent, of)
					  : NULL);
}

json_t *control_on_nodes(struct peer *from, const json_t *body, int *status)
{
	json_t *nodes = control_nodes();

	if (!nodes)
		return control_refuse(status, 409, "not the controller");
	return json_pack("{s:I,s:o}", "epoch", (json_int_t)group_epoch(), "nodes", nodes);
}

json_t *control_on_drain(struct peer *from, const json_t *body, int *status)
{
	const json_t *flag = json_object_get(body, "draining");

	if (!json_is_boolean(flag))
		return control_refuse(status, 400, "draining is missing");
	agent.draining = json_is_true(flag);
	log_info("%s by %s", agent.draining ? "drained" : "undrained", peer_code(from));
	control_report_now();
	return json_object();
}

/* ---- set-up ---- */

int control_init(void)
{
	const struct timeval tick = { 0, CONTROL_TICK_MS * 1000 };

	control_timer = event_new(agent.base, -1, EV_PERSIST, control_on_tick, NULL);
	control_soon = event_new(agent.base, -1, 0, control_on_soon, NULL);
	if (!control_timer || !control_soon)
		return -ENOMEM;
	evtimer_add(control_timer, &tick);
	control_pin_group();
	control_peer_changed(peer_self());
	return 0;
}

void control_reload(void)
{
	control_pin_group();
	control_peer_changed(peer_self());
}

void control_exit(void)
{
	if (control_timer)
		event_free(control_timer);
	if (control_soon)
		event_free(control_soon);
	control_timer = control_soon = NULL;
	group_end();
}
