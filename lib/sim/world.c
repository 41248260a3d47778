// SPDX-License-Identifier: GPL-2.0-or-later
/* Members and a network between them in simulated time. */
#include "world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "world_task.h"

/* ---- the network ---- */

static void world_send(struct eh_world *w, uint32_t from, uint32_t to, const struct eh_message *msg)
{
	size_t nseen = msg->type == EH_MSG_REPORT ? msg->report.nseen : 0;
	struct world_parcel *parcel;

	w->counts.messages[msg->type]++;
	world_tell(w, (struct eh_world_event){
			      .type = EH_WORLD_SENT, .node = from, .to = to, .message = msg });
	if (!w->nodes[to].member) {
		world_plan(
			w, w->options.refuse,
			(struct world_happening){ .type = WORLD_GONE, .node = from, .from = to });
		return;
	}
	if (world_is_cut(w, from, to) ||
	    (w->options.loss > 0 &&
	     eh_random(&w->random) < (uint64_t)(w->options.loss * (double)UINT64_MAX)))
		return;
	parcel = malloc(sizeof(*parcel) + nseen * sizeof(parcel->seen[0]));
	if (!parcel) {
		w->no_memory = true;
		return;
	}
	parcel->message = *msg;
	if (nseen)
		memcpy(parcel->seen, msg->report.seen, nseen * sizeof(parcel->seen[0]));
	if (msg->type == EH_MSG_REPORT)
		parcel->message.report.seen = parcel->seen;
	world_plan(w, world_delay(w),
		   (struct world_happening){
			   .type = WORLD_MESSAGE, .node = to, .from = from, .parcel = parcel });
}

/* ---- steps ---- */

static void world_on_update(void *ctx, const struct eh_member_update *up)
{
	struct eh_world *w = ctx;
	struct world_node *n = &w->nodes[w->stepping];

	switch (up->type) {
	case EH_MU_SEND:
		world_send(w, w->stepping, up->node, up->message);
		break;
	case EH_MU_ANSWER:
		world_task_answer(w, up->message);
		break;
	case EH_MU_THRESHOLD:
		n->own.threshold = up->threshold;
		break;
	case EH_MU_CHILD:
		break;
	case EH_MU_ROLE:
		world_tell(w, (struct eh_world_event){ .type = EH_WORLD_ROLE,
						       .node = w->stepping,
						       .to = up->parent,
						       .rank = up->rank });
		break;
	}
}

/* Gives the node's member an event, if it lives, and does what follows. */
static void world_step(struct eh_world *w, uint32_t node, const struct eh_member_event *event)
{
	struct world_node *n = &w->nodes[node];
	uint64_t epoch;

	if (!n->member)
		return;
	epoch = eh_member_rule(n->member).epoch;
	w->stepping = node;
	if (eh_member_step(n->member, event, w->now, world_on_update, w) == -ENOMEM)
		w->no_memory = true;
	if (eh_member_rank(n->member) == w->options.member.topology.l &&
	    eh_member_rule(n->member).epoch > epoch)
		w->counts.threshold_changes++;
}

/* A step may change them again. */
void world_touch(struct eh_world *w, uint32_t node)
{
	struct world_node *n = &w->nodes[node];

	while (n->member && n->touched) {
		struct eh_member_event event = {
			.type = EH_ME_LOAD,
			.load = { .own = n->own, .seen = n->seen, .nseen = n->nseen },
		};

		n->touched = false;
		world_step(w, node, &event);
		n->nseen = 0;
	}
}

/* The task has got to its executor: it runs there, or at home if that one is dead or cut off. */
static void world_start_task(struct eh_world *w, uint64_t id)
{
	struct world_task *t = world_task_find(w, id);
	uint32_t to;

	if (!t || t->state != WORLD_TASK_STARTING)
		return;
	to = t->at;
	if (w->nodes[to].member && !world_is_cut(w, t->home, to)) {
		world_task_run(w, t, to, NULL);
		world_touch(w, to);
		return;
	}
	world_step(w, t->home,
		   &(struct eh_member_event){
			   .type = EH_ME_FAILED,
			   .failed = { .id = id, .to = to, .decider = t->decider } });
	world_task_run(w, t, t->home, NULL);
}

static void world_happen(struct eh_world *w, struct world_happening *h)
{
	switch (h->type) {
	case WORLD_TICK:
		world_step(w, h->node, &(struct eh_member_event){ .type = EH_ME_TICK });
		world_plan(w, w->options.member.heartbeat_ms / 8 + 1,
			   (struct world_happening){ .type = WORLD_TICK, .node = h->node });
		break;
	case WORLD_MESSAGE:
		if (!world_is_cut(w, h->from, h->node))
			world_step(w, h->node,
				   &(struct eh_member_event){
					   .type = EH_ME_MESSAGE,
					   .message = { h->from, &h->parcel->message } });
		break;
	case WORLD_GONE:
		world_step(w, h->node,
			   &(struct eh_member_event){ .type = EH_ME_GONE, .node = h->from });
		break;
	case WORLD_LATE:
		world_task_late(w, h->id);
		break;
	case WORLD_START:
		world_start_task(w, h->id);
		break;
	}
	world_touch(w, h->node);
}

int eh_world_run(struct eh_world *w, uint64_t until)
{
	w->no_memory = false;
	while (world_queue_due(&w->queue, until)) {
		struct world_happening h = world_queue_take(&w->queue);

		w->now = h.at;
		if (w->nodes[h.node].member && w->nodes[h.node].life == h.life)
			world_happen(w, &h);
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): a parcel is in one happening only */
		free(h.parcel);
	}
	w->now = until;
	return w->no_memory ? -ENOMEM : 0;
}

/* ---- what the driver does ---- */

int eh_world_start(struct eh_world *w, uint32_t node)
{
	struct eh_member_options options = w->options.member;
	struct world_node *n;
	uint64_t tick = w->options.member.heartbeat_ms / 8 + 1;

	if (node >= w->size || w->nodes[node].member)
		return -EINVAL;
	n = &w->nodes[node];
	options.self = node;
	options.seed = eh_random(&w->random);
	n->member = eh_member_new(&options);
	if (!n->member)
		return -ENOMEM;
	n->life++;
	n->own = w->options.own;
	n->own.nodes = 1;
	n->nseen = 0;
	n->touched = true;
	w->no_memory = false;
	for (uint32_t i = 0; i < w->size; i++)
		if (i != node)
			world_step(w, node,
				   &(struct eh_member_event){ .type = EH_ME_KNOWN, .node = i });
	world_touch(w, node);
	world_plan(w, eh_random(&w->random) % tick,
		   (struct world_happening){ .type = WORLD_TICK, .node = node });
	return w->no_memory ? -ENOMEM : 0;
}

bool eh_world_alive(const struct eh_world *w, uint32_t node)
{
	return node < w->size && w->nodes[node].member;
}

/* Whether the living node i has the other as its parent or as a child. */
static bool world_is_linked(const struct eh_world *w, uint32_t i, uint32_t other)
{
	const struct eh_member *m = w->nodes[i].member;
	uint32_t child;
	struct eh_child c;

	if (eh_member_parent(m) == other)
		return true;
	for (unsigned int level = 1; level <= eh_member_rank(m); level++)
		for (unsigned int d = 0; d < 1u << w->options.member.topology.n; d++)
			if (!eh_member_child(m, level, d, &c, &child) && child == other)
				return true;
	return false;
}

int eh_world_kill(struct eh_world *w, uint32_t node)
{
	uint32_t parent;

	if (node >= w->size || !w->nodes[node].member)
		return -EINVAL;
	world_task_lose(w, node);
	parent = eh_member_parent(w->nodes[node].member);
	/* its links break; a cut one stays silent */
	for (uint32_t i = 0; i < w->size; i++) {
		if (i == node || !w->nodes[i].member || world_is_cut(w, i, node))
			continue;
		if (i == parent || world_is_linked(w, i, node))
			world_plan(w, w->options.refuse,
				   (struct world_happening){
					   .type = WORLD_GONE, .node = i, .from = node });
	}
	eh_member_free(w->nodes[node].member);
	w->nodes[node].member = NULL;
	return 0;
}

int eh_world_arrive(struct eh_world *w, uint32_t node, uint64_t id, uint64_t size)
{
	const struct eh_report *own;
	struct world_task *t;

	if (!eh_world_alive(w, node) || world_task_find(w, id))
		return -EINVAL;
	own = &w->nodes[node].own;
	t = world_task_new(w, id, size, node);
	if (!t)
		return -ENOMEM;
	w->counts.arrivals++;
	if (eh_state(own->load, own->threshold, own->length) != EH_SENDER) {
		world_task_run(w, t, node, NULL);
	} else {
		w->counts.asked++;
		t->asked = true;
		world_plan(w, w->options.ask_limit,
			   (struct world_happening){ .type = WORLD_LATE, .node = node, .id = id });
		world_step(w, node,
			   &(struct eh_member_event){ .type = EH_ME_ASK,
						      .ask = { .id = id, .size = size } });
	}
	world_touch(w, node);
	return 0;
}

int eh_world_finish(struct eh_world *w, uint64_t id)
{
	struct world_task *t = world_task_find(w, id);

	if (!t)
		return -EINVAL;
	t->ends = true;
	if (t->state == WORLD_TASK_RUNNING) {
		const uint32_t at = t->at;

		world_task_end(w, t);
		world_touch(w, at);
	}
	return 0;
}

int eh_world_cut(struct eh_world *w, const uint8_t *side)
{
	if (!side) {
		free(w->side);
		w->side = NULL;
		return 0;
	}
	if (!w->side)
		w->side = malloc(w->size);
	if (!w->side)
		return -ENOMEM;
	memcpy(w->side, side, w->size);
	return 0;
}

void eh_world_set_loss(struct eh_world *w, double loss)
{
	w->options.loss = loss;
}

/* ---- set-up, and what others want to know ---- */

struct eh_world *eh_world_new(const struct eh_world_options *options, eh_world_watch_fn watch,
			      void *ctx)
{
	const struct eh_topology *t = &options->member.topology;
	struct eh_world *w;

	if (t->n * t->l > 20 || !options->own.capacity)
		return NULL;
	w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->options = *options;
	w->watch = watch;
	w->ctx = ctx;
	w->size = 1u << (t->n * t->l);
	w->random = options->member.seed;
	w->nodes = calloc(w->size, sizeof(*w->nodes));
	if (!w->nodes)
		goto free_world;
	/* 2: the tick of a node's earlier life may still be under way */
	if (world_queue_init(&w->queue, 2 * (size_t)w->size))
		goto free_nodes;
	return w;

free_nodes:
	free(w->nodes);
free_world:
	free(w);
	return NULL;
}

void eh_world_free(struct eh_world *w)
{
	if (!w)
		return;
	world_task_free(w);
	for (uint32_t i = 0; i < w->size; i++)
		eh_member_free(w->nodes[i].member);
	world_queue_free(&w->queue);
	free(w->nodes);
	free(w->side);
	free(w);
}

uint64_t eh_world_now(const struct eh_world *w)
{
	return w->now;
}

const struct eh_member *eh_world_member(const struct eh_world *w, uint32_t node)
{
	return w->nodes[node].member;
}

const struct eh_report *eh_world_node(const struct eh_world *w, uint32_t node)
{
	return &w->nodes[node].own;
}

void eh_world_counts(const struct eh_world *w, struct eh_world_counts *out)
{
	*out = w->counts;
}
