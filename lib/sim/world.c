// SPDX-License-Identifier: GPL-2.0-or-later
/* Members and a network between them in simulated time. */
#include "world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

enum happening_type {
	HAPPEN_TICK,
	HAPPEN_MESSAGE,
	HAPPEN_GONE, /* `node` learns that the link to `from` broke */
	HAPPEN_LATE, /* nobody answered in time */
	HAPPEN_START, /* a task begins on its executor, if that lives */
};

struct parcel {
	struct eh_message message;
	uint64_t seen[];
};

struct happening {
	uint64_t at, order; /* order: those at one time happen as they were planned */
	enum happening_type type;
	uint32_t node, from, life; /* life: of `node`; a later one has nothing to do with it */
	uint64_t id;
	struct parcel *parcel;
};

enum task_state { TASK_ASKED, TASK_STARTING, TASK_RUNNING };

struct task {
	uint64_t id, size;
	enum task_state state;
	bool asked;
	uint32_t home, at;
	unsigned int probes;
	struct eh_probe decider;
	UT_hash_handle hh;
};

struct node {
	struct eh_member *member; /* NULL: dead */
	struct eh_report own;
	uint32_t life;
	uint64_t seen[EH_SEEN_MAX];
	size_t nseen;
	bool touched; /* own values to be told to the member */
};

struct eh_world {
	struct eh_world_options options;
	eh_world_watch_fn watch;
	void *ctx;
	uint32_t size;
	struct node *nodes;
	uint8_t *side; /* NULL: whole */
	struct happening *queue;
	size_t nqueue, room;
	uint64_t now, order, random;
	struct task *tasks;
	struct eh_world_counts counts;
	bool no_memory;
	uint32_t stepping; /* the node whose step is under way */
};

static void world_tell(struct eh_world *w, struct eh_world_event event)
{
	event.now = w->now;
	if (w->watch)
		w->watch(w->ctx, &event);
}

/* ---- what is to happen: a heap by time ---- */

static bool is_sooner(const struct happening *a, const struct happening *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void queue_add(struct eh_world *w, uint64_t after, struct happening h)
{
	size_t i = w->nqueue;

	/* a message may be lost for lack of memory, a node's time may not: there is always room for that */
	if (i + 2 * w->size >= w->room) {
		struct happening *more = realloc(w->queue, 2 * w->room * sizeof(*more));

		if (more) {
			w->queue = more;
			w->room *= 2;
		} else {
			w->no_memory = true;
			if (h.type != HAPPEN_TICK || i == w->room) {
				free(h.parcel);
				return;
			}
		}
	}
	h.at = w->now + after;
	h.order = w->order++;
	h.life = w->nodes[h.node].life;
	w->nqueue++;
	for (; i && is_sooner(&h, &w->queue[(i - 1) / 2]); i = (i - 1) / 2)
		w->queue[i] = w->queue[(i - 1) / 2];
	w->queue[i] = h;
}

static struct happening queue_take(struct eh_world *w)
{
	struct happening first = w->queue[0], last = w->queue[--w->nqueue];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < w->nqueue) {
		if (child + 1 < w->nqueue && is_sooner(&w->queue[child + 1], &w->queue[child]))
			child++;
		if (!is_sooner(&w->queue[child], &last))
			break;
		w->queue[i] = w->queue[child];
		i = child;
	}
	w->queue[i] = last;
	return first;
}

/* ---- the network ---- */

static bool is_cut(const struct eh_world *w, uint32_t a, uint32_t b)
{
	return w->side && w->side[a] != w->side[b];
}

static uint64_t world_delay(struct eh_world *w)
{
	uint64_t half = w->options.delay / 2;

	return half + (half ? eh_random(&w->random) % (2 * half + 1) : 0);
}

static void world_send(struct eh_world *w, uint32_t from, uint32_t to, const struct eh_message *msg)
{
	size_t nseen = msg->type == EH_MSG_REPORT ? msg->report.nseen : 0;
	struct parcel *parcel;

	w->counts.messages[msg->type]++;
	world_tell(w, (struct eh_world_event){
			      .type = EH_WORLD_SENT, .node = from, .to = to, .message = msg });
	if (!w->nodes[to].member) {
		queue_add(w, w->options.refuse,
			  (struct happening){ .type = HAPPEN_GONE, .node = from, .from = to });
		return;
	}
	if (is_cut(w, from, to) ||
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
	queue_add(w, world_delay(w),
		  (struct happening){
			  .type = HAPPEN_MESSAGE, .node = to, .from = from, .parcel = parcel });
}

/* ---- tasks ---- */

static void task_run(struct eh_world *w, struct task *t, uint32_t at,
		     const struct eh_message *answer)
{
	struct node *n = &w->nodes[at];

	t->at = at;
	t->state = TASK_RUNNING;
	n->own.load += t->size;
	n->touched = true;
	if (at == t->home)
		w->counts.home++;
	else
		w->counts.away++;
	/* the report that has its load settles the grant */
	if (t->asked && n->nseen < EH_SEEN_MAX)
		n->seen[n->nseen++] = t->id;
	world_tell(w, (struct eh_world_event){ .type = EH_WORLD_PLACED,
					       .node = t->home,
					       .to = at,
					       .message = answer,
					       .probes = t->probes,
					       .id = t->id });
}

static struct task *task_find(struct eh_world *w, uint64_t id)
{
	struct task *t;

	HASH_FIND(hh, w->tasks, &id, sizeof(id), t);
	return t;
}

static void task_remove(struct eh_world *w, struct task *t)
{
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): clang does not follow the links of uthash */
	HASH_DEL(w->tasks, t);
	free(t);
}

static void on_answer(struct eh_world *w, const struct eh_message *msg)
{
	const struct eh_message_answer *answer = &msg->answer;
	const struct eh_message_ask *ask = &answer->ask;
	struct task *t = task_find(w, ask->id);

	if (!t || t->state != TASK_ASKED)
		return;
	w->counts.probes += ask->probes;
	t->probes = ask->probes;
	if (ask->npath)
		t->decider = ask->path[ask->npath - 1];
	if (answer->to == EH_NO_NODE || answer->to == t->home) {
		task_run(w, t, t->home, msg);
		return;
	}
	t->state = TASK_STARTING;
	t->at = answer->to;
	w->counts.reserved++;
	queue_add(w, world_delay(w),
		  (struct happening){ .type = HAPPEN_START, .node = t->home, .id = t->id });
}

/* ---- steps ---- */

static void world_on_update(void *ctx, const struct eh_member_update *up)
{
	struct eh_world *w = ctx;
	struct node *n = &w->nodes[w->stepping];

	switch (up->type) {
	case EH_MU_SEND:
		world_send(w, w->stepping, up->node, up->message);
		break;
	case EH_MU_ANSWER:
		on_answer(w, up->message);
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

static void world_step(struct eh_world *w, uint32_t node, const struct eh_member_event *event)
{
	struct node *n = &w->nodes[node];
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

/* Own values that changed during a step, of this node or through it. */
static void world_touch(struct eh_world *w, uint32_t node)
{
	struct node *n = &w->nodes[node];

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

static void on_start(struct eh_world *w, uint64_t id)
{
	struct task *t = task_find(w, id);
	uint32_t to;

	if (!t || t->state != TASK_STARTING)
		return;
	to = t->at;
	if (w->nodes[to].member && !is_cut(w, t->home, to)) {
		task_run(w, t, to, NULL);
		world_touch(w, to);
		return;
	}
	world_step(w, t->home,
		   &(struct eh_member_event){
			   .type = EH_ME_FAILED,
			   .failed = { .id = id, .to = to, .decider = t->decider } });
	task_run(w, t, t->home, NULL);
}

static void world_happen(struct eh_world *w, struct happening *h)
{
	struct task *t;

	switch (h->type) {
	case HAPPEN_TICK:
		world_step(w, h->node, &(struct eh_member_event){ .type = EH_ME_TICK });
		queue_add(w, w->options.member.heartbeat_ms / 8 + 1,
			  (struct happening){ .type = HAPPEN_TICK, .node = h->node });
		break;
	case HAPPEN_MESSAGE:
		if (!is_cut(w, h->from, h->node))
			world_step(w, h->node,
				   &(struct eh_member_event){
					   .type = EH_ME_MESSAGE,
					   .message = { h->from, &h->parcel->message } });
		break;
	case HAPPEN_GONE:
		world_step(w, h->node,
			   &(struct eh_member_event){ .type = EH_ME_GONE, .node = h->from });
		break;
	case HAPPEN_LATE:
		t = task_find(w, h->id);
		if (t && t->state == TASK_ASKED) {
			w->counts.late++;
			task_run(w, t, t->home, NULL);
		}
		break;
	case HAPPEN_START:
		on_start(w, h->id);
		break;
	}
	world_touch(w, h->node);
}

int eh_world_run(struct eh_world *w, uint64_t until)
{
	w->no_memory = false;
	while (w->nqueue && w->queue[0].at <= until) {
		struct happening h = queue_take(w);

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
	struct node *n;
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
	queue_add(w, eh_random(&w->random) % tick,
		  (struct happening){ .type = HAPPEN_TICK, .node = node });
	return w->no_memory ? -ENOMEM : 0;
}

int eh_world_kill(struct eh_world *w, uint32_t node)
{
	struct task *t, *next;
	uint32_t parent;

	if (node >= w->size || !w->nodes[node].member)
		return -EINVAL;
	HASH_ITER(hh, w->tasks, t, next) {
		if (t->home == node) {
			/* a guest dies with its home */
			if (t->state == TASK_RUNNING && t->at != node && w->nodes[t->at].member) {
				w->nodes[t->at].own.load -= t->size;
				w->nodes[t->at].touched = true;
			}
		} else if (t->state != TASK_RUNNING || t->at != node) {
			continue;
		}
		w->counts.lost++;
		world_tell(w, (struct eh_world_event){ .type = EH_WORLD_LOST,
						       .node = t->home,
						       .to = t->at,
						       .id = t->id });
		task_remove(w, t);
	}
	parent = eh_member_parent(w->nodes[node].member);
	/* its links break; a cut one stays silent */
	for (uint32_t i = 0; i < w->size; i++) {
		uint32_t child;
		struct eh_child c;
		bool linked = i == parent;

		if (i == node || !w->nodes[i].member || is_cut(w, i, node))
			continue;
		linked |= eh_member_parent(w->nodes[i].member) == node;
		for (unsigned int l = 1; l <= eh_member_rank(w->nodes[i].member) && !linked; l++)
			for (unsigned int d = 0; d < 1u << w->options.member.topology.n; d++)
				linked |= !eh_member_child(w->nodes[i].member, l, d, &c, &child) &&
					  child == node;
		if (linked)
			queue_add(
				w, w->options.refuse,
				(struct happening){ .type = HAPPEN_GONE, .node = i, .from = node });
	}
	eh_member_free(w->nodes[node].member);
	w->nodes[node].member = NULL;
	return 0;
}

int eh_world_own(struct eh_world *w, uint32_t node, const struct eh_report *own)
{
	if (node >= w->size || !w->nodes[node].member || !own->capacity)
		return -EINVAL;
	w->nodes[node].own = *own;
	w->nodes[node].touched = true;
	world_touch(w, node);
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

int eh_world_arrive(struct eh_world *w, uint32_t node, uint64_t id, uint64_t size)
{
	const struct eh_report *own;
	struct task *t;

	if (node >= w->size || !w->nodes[node].member || task_find(w, id))
		return -EINVAL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->id = id;
	t->size = size;
	t->home = node;
	HASH_ADD(hh, w->tasks, id, sizeof(t->id), t);
	if (!t->hh.tbl) {
		free(t);
		return -ENOMEM;
	}
	w->counts.arrivals++;
	own = &w->nodes[node].own;
	if (eh_state(own->load, own->threshold, own->length) != EH_SENDER) {
		task_run(w, t, node, NULL);
	} else {
		w->counts.asked++;
		t->asked = true;
		queue_add(w, w->options.ask_limit,
			  (struct happening){ .type = HAPPEN_LATE, .node = node, .id = id });
		world_step(w, node,
			   &(struct eh_member_event){ .type = EH_ME_ASK,
						      .ask = { .id = id, .size = size } });
	}
	world_touch(w, node);
	return 0;
}

int eh_world_finish(struct eh_world *w, uint64_t id)
{
	struct task *t = task_find(w, id);

	if (!t || t->state != TASK_RUNNING)
		return -EINVAL;
	w->nodes[t->at].own.load -= t->size;
	w->nodes[t->at].touched = true;
	world_touch(w, t->at);
	task_remove(w, t);
	return 0;
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
	w->room = 256 + 4 * (size_t)w->size;
	w->nodes = calloc(w->size, sizeof(*w->nodes));
	w->queue = malloc(w->room * sizeof(*w->queue));
	if (!w->nodes || !w->queue) {
		free(w->nodes);
		free(w->queue);
		free(w);
		return NULL;
	}
	return w;
}

void eh_world_free(struct eh_world *w)
{
	struct task *t, *next;

	if (!w)
		return;
	HASH_ITER(hh, w->tasks, t, next)
		task_remove(w, t);
	for (uint32_t i = 0; i < w->size; i++)
		eh_member_free(w->nodes[i].member);
	for (size_t i = 0; i < w->nqueue; i++)
		free(w->queue[i].parcel);
	free(w->queue);
	free(w->nodes);
	free(w->side);
	free(w);
}

uint64_t eh_world_now(const struct eh_world *w)
{
	return w->now;
}

bool eh_world_alive(const struct eh_world *w, uint32_t node)
{
	return node < w->size && w->nodes[node].member;
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
