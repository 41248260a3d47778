// SPDX-License-Identifier: GPL-2.0-or-later
#include "world_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/world.h"

#define NO_PLACE UINT32_MAX

struct task {
	bool ended; /* or ends as soon as it runs */
	uint32_t place; /* in `live`, or NO_PLACE */
};

struct world_run {
	const struct run_options *options;
	const struct run_watch *watch;
	struct run_result *result;
	struct eh_world *world;
	struct eh_world_counts before; /* when the arrivals began */
	uint64_t random;
	uint64_t began, heartbeat, ask_limit; /* in ticks */
	uint32_t nodes;
	uint64_t *
		orphan; /* this and the next one by node: since when a living node has had no controller; 0: it has one */
	uint8_t *side; /* of the cuts in force */
	uint64_t orphaned, longest; /* ticks without a controller: sum, longest */
	double time; /* in mean inter-arrival times, since `began` */
	struct task *tasks; /* by number */
	size_t task_room;
	uint32_t *live; /* tasks that run, in any order */
	size_t count, live_room;
	bool *done; /* by failure: it has happened; a cut: it has begun */
	bool no_memory;
};

static int world_grow(void *array, size_t each, size_t count, size_t *room)
{
	void **at = array, *more;
	size_t want = *room ? 2 * *room : 256;

	if (count < *room)
		return 0;
	more = realloc(*at, want * each);
	if (!more)
		return -ENOMEM;
	*at = more;
	*room = want;
	return 0;
}

/* ---- nodes without a controller ---- */

/* Levels that it leads; 0 if it is dead. */
static unsigned int world_rank(const struct world_run *w, uint32_t node)
{
	const struct eh_member *m = eh_world_member(w->world, node);

	return m ? eh_member_rank(m) : 0;
}

static bool world_has_controller(const struct world_run *w, uint32_t node)
{
	const uint32_t parent = eh_member_parent(eh_world_member(w->world, node));
	const unsigned int own = world_rank(w, node);

	return own == w->options->tree.topology.l ||
	       (parent != EH_NO_NODE && world_rank(w, parent) > own &&
		w->side[parent] == w->side[node]);
}

static void world_note_orphans(struct world_run *w, uint64_t now)
{
	for (uint32_t i = 0; i < w->nodes; i++) {
		bool orphan = eh_world_alive(w->world, i) && !world_has_controller(w, i);

		if (orphan && !w->orphan[i]) {
			w->orphan[i] = now;
		} else if (!orphan && w->orphan[i]) {
			w->orphaned += now - w->orphan[i];
			if (now - w->orphan[i] > w->longest)
				w->longest = now - w->orphan[i];
			w->orphan[i] = 0;
		}
	}
}

/* ---- events of the world ---- */

static void world_forget(struct world_run *w, uint32_t task)
{
	uint32_t last = w->live[--w->count];

	w->live[w->tasks[task].place] = last;
	w->tasks[last].place = w->tasks[task].place;
	w->tasks[task].place = NO_PLACE;
}

static void world_on_placed(struct world_run *w, const struct eh_world_event *e)
{
	uint32_t task = (uint32_t)e->id;
	const struct eh_tree_update up = { .node = e->to, .probes = e->probes };

	if (w->watch && w->watch->decided)
		w->watch->decided(w->watch->ctx, task, e->node, &up);
	if (w->tasks[task].ended)
		return;
	if (world_grow(&w->live, sizeof(*w->live), w->count, &w->live_room)) {
		w->no_memory = true;
		return;
	}
	w->tasks[task].place = (uint32_t)w->count;
	w->live[w->count++] = task;
}

static void world_on_event(void *ctx, const struct eh_world_event *e)
{
	struct world_run *w = ctx;

	if (e->type == EH_WORLD_SENT) {
		unsigned int top = w->options->tree.topology.l;

		w->result->protocol.at_top +=
			world_rank(w, e->node) == top || world_rank(w, e->to) == top;
	} else if (e->type == EH_WORLD_PLACED) {
		world_on_placed(w, e);
	} else if (e->type == EH_WORLD_LOST) {
		if (w->tasks[e->id].place != NO_PLACE)
			world_forget(w, (uint32_t)e->id);
	} else if (e->type == EH_WORLD_ROLE && w->began) {
		world_note_orphans(w, e->now);
	}
}

/* ---- failures ---- */

/* Whether the failure concerns this node. */
static bool world_concerns(const struct world_run *w, const struct failure *f, uint32_t node)
{
	return f->any || node >> w->options->tree.topology.n * f->code.level == f->code.index;
}

/* The living node that controls the failure's group, or NO_PLACE. */
static uint32_t world_controller(const struct world_run *w, const struct failure *f)
{
	unsigned int level = f->kind == FAILURE_TOP ? w->options->tree.topology.l : f->code.level;

	for (uint32_t i = 0; i < w->nodes; i++)
		if (eh_world_alive(w->world, i) && world_rank(w, i) >= level &&
		    (f->kind == FAILURE_TOP || world_concerns(w, f, i)))
			return i;
	return NO_PLACE;
}

/* The first living node from a random one on, or NO_PLACE. */
static uint32_t world_random_node(struct world_run *w)
{
	uint32_t first = eh_random_below(&w->random, w->nodes);

	for (uint32_t i = 0; i < w->nodes; i++)
		if (eh_world_alive(w->world, (first + i) % w->nodes))
			return (first + i) % w->nodes;
	return NO_PLACE;
}

static void world_kill_node(struct world_run *w, uint32_t node)
{
	if (node != NO_PLACE && !eh_world_kill(w->world, node))
		w->result->protocol.killed++;
}

/* Applies all cuts in force: each separates its nodes from all others. */
static int world_cut(struct world_run *w)
{
	bool whole = true;

	memset(w->side, 0, w->nodes);
	for (size_t i = 0; i < w->options->nfailures; i++) {
		const struct failure *f = &w->options->failures[i];

		if (f->kind != FAILURE_CUT || w->time < f->at || w->time >= f->until)
			continue;
		whole = false;
		for (uint32_t node = 0; node < w->nodes; node++)
			if (world_concerns(w, f, node))
				w->side[node] = (uint8_t)(i + 1);
	}
	return eh_world_cut(w->world, whole ? NULL : w->side);
}

static int world_fail_now(struct world_run *w, const struct failure *f)
{
	uint32_t half = (1u << w->options->tree.topology.n * f->code.level) / 2;
	int err = 0;

	switch (f->kind) {
	case FAILURE_NODE:
		world_kill_node(w, f->any ? world_random_node(w) : f->code.index);
		break;
	case FAILURE_TOP:
	case FAILURE_CONTROLLER:
		world_kill_node(w, world_controller(w, f));
		break;
	case FAILURE_GROUP:
	case FAILURE_HALF:
		for (uint32_t i = 0; i < w->nodes; i++)
			if (world_concerns(w, f, i) &&
			    (f->kind == FAILURE_GROUP || i % (2 * half) < half))
				world_kill_node(w, i);
		break;
	case FAILURE_BACK:
		for (uint32_t i = 0; i < w->nodes && !err; i++)
			if (world_concerns(w, f, i) && !eh_world_alive(w->world, i))
				err = eh_world_start(w->world, i);
		break;
	case FAILURE_CUT:
		err = world_cut(w);
		break;
	}
	world_note_orphans(w, eh_world_now(w->world));
	return err;
}

/* The next failure, or end of a cut, up to a time in mean inter-arrival times; NULL: none. */
static const struct failure *world_next_failure(const struct world_run *w, double until, double *at)
{
	const struct failure *next = NULL;

	for (size_t i = 0; i < w->options->nfailures; i++) {
		const struct failure *f = &w->options->failures[i];
		double when = w->done[i] ? f->until : f->at;

		if ((w->done[i] && (f->kind != FAILURE_CUT || when <= w->time)) || when > until ||
		    (next && when >= *at))
			continue;
		next = f;
		*at = when;
	}
	return next;
}

/* ---- time ---- */

static int world_pass(struct world_run *w, double until)
{
	const struct failure *f;
	double at = 0;
	int err = 0;

	do {
		f = world_next_failure(w, until, &at);
		w->time = f ? at : until;
		err = eh_world_run(w->world, w->began + (uint64_t)(w->time * RUN_TICKS));
		if (f && !err) {
			w->done[f - w->options->failures] = true;
			err = world_fail_now(w, f);
		}
	} while (f && !err);
	return w->no_memory ? -ENOMEM : err;
}

int world_run_pass(struct world_run *w, double inter_arrivals)
{
	return world_pass(w, w->time + inter_arrivals);
}

int world_run_arrive(struct world_run *w, uint32_t task, uint32_t node, uint64_t size)
{
	w->result->counts.arrivals++;
	if (world_grow(&w->tasks, sizeof(*w->tasks), task, &w->task_room))
		return -ENOMEM;
	w->tasks[task] = (struct task){ false, NO_PLACE };
	if (!eh_world_alive(w->world, node) && !w->options->trace)
		node = world_random_node(w);
	if (node == NO_PLACE || !eh_world_alive(w->world, node)) {
		w->result->protocol.nowhere++;
		return 0;
	}
	return eh_world_arrive(w->world, node, task, size);
}

void world_run_finish(struct world_run *w, uint32_t task)
{
	w->tasks[task].ended = true;
	if (w->tasks[task].place != NO_PLACE)
		world_forget(w, task);
	/* it is unknown if it was lost, or came to a dead node */
	eh_world_finish(w->world, task);
}

void world_run_release(struct world_run *w, double which)
{
	if (w->count)
		world_run_finish(w, w->live[(size_t)(which * (double)w->count)]);
}

/* ---- begin and end ---- */

void world_run_free(struct world_run *w)
{
	if (!w)
		return;
	eh_world_free(w->world);
	free(w->orphan);
	free(w->side);
	free(w->tasks);
	free(w->live);
	free(w->done);
	free(w);
}

/* Starts all nodes at once, and gives them time to find their controllers. */
static int world_begin(struct world_run *w)
{
	int err = 0;

	eh_world_set_loss(w->world, 0);
	for (uint32_t i = 0; i < w->nodes && !err; i++)
		err = eh_world_start(w->world, i);
	w->began = 1;
	if (!err)
		err = eh_world_run(w->world, 32 * w->heartbeat);
	if (err)
		return err;
	w->began = eh_world_now(w->world);
	memset(w->orphan, 0, w->nodes * sizeof(*w->orphan));
	w->orphaned = w->longest = w->result->protocol.at_top = 0;
	world_note_orphans(w, w->began);
	eh_world_set_loss(w->world, w->options->loss);
	eh_world_counts(w->world, &w->before);
	return 0;
}

struct world_run *world_run_new(const struct run_options *options, uint64_t seed,
				const struct run_watch *watch, struct run_result *result)
{
	const struct eh_tree_options *tree = &options->tree;
	struct eh_world_options how = {
		.member = { .topology = tree->topology, .least = tree->least, .lazy = tree->lazy },
		.delay = (uint64_t)(options->delay * RUN_TICKS),
		.own = { .threshold = tree->threshold,
			 .length = tree->length,
			 .capacity = EH_TASK },
	};
	struct world_run *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->options = options;
	w->watch = watch;
	w->result = result;
	w->nodes = 1u << tree->topology.n * tree->topology.l;
	w->random = eh_random(&seed);
	how.member.seed = eh_random(&seed);
	w->heartbeat = (uint64_t)((options->heartbeat > 0 ? options->heartbeat
				   : options->delay > 2	  ? 10 * options->delay
							  : 20) *
				  RUN_TICKS);
	how.member.heartbeat_ms = (uint32_t)w->heartbeat;
	how.member.grant_ms = how.member.calm_ms = 2 * (uint32_t)w->heartbeat;
	how.refuse = how.delay;
	how.ask_limit = w->ask_limit = w->heartbeat + 20 * how.delay;
	w->world = eh_world_new(&how, world_on_event, w);
	w->orphan = calloc(w->nodes, sizeof(*w->orphan));
	w->side = calloc(w->nodes, 1);
	w->done = calloc(options->nfailures + 1, sizeof(*w->done));
	if (!w->world || !w->orphan || !w->side || !w->done || world_begin(w)) {
		world_run_free(w);
		return NULL;
	}
	return w;
}

static void world_loads(struct world_run *w)
{
	struct run_result *r = w->result;

	r->load_min = UINT64_MAX;
	for (uint32_t i = 0; i < w->nodes; i++) {
		uint64_t load;

		if (!eh_world_alive(w->world, i))
			continue;
		load = eh_world_node(w->world, i)->load;
		r->load_min = load < r->load_min ? load : r->load_min;
		r->load_max = load > r->load_max ? load : r->load_max;
		r->load_total += load;
	}
	if (r->load_min == UINT64_MAX)
		r->load_min = 0;
}

int world_run_end(struct world_run *w)
{
	struct run_result *r = w->result;
	struct protocol *p = &r->protocol;
	struct eh_world_counts c;
	double last = w->time;
	uint64_t now;
	int err;

	/* arrivals are random, so failures may be due after the last one */
	for (size_t i = 0; i < w->options->nfailures; i++) {
		last = w->options->failures[i].at > last ? w->options->failures[i].at : last;
		last = w->options->failures[i].until > last ? w->options->failures[i].until : last;
	}
	/* the last asks are answered too, or are late */
	err = world_pass(w, last + (double)w->ask_limit / RUN_TICKS + 3 * w->options->delay + 1);
	if (err)
		return err;
	now = eh_world_now(w->world);
	for (uint32_t i = 0; i < w->nodes; i++)
		if (w->orphan[i]) {
			w->orphaned += now - w->orphan[i];
			if (now - w->orphan[i] > w->longest)
				w->longest = now - w->orphan[i];
		}
	eh_world_counts(w->world, &c);
	for (size_t i = 0; i < sizeof(p->messages) / sizeof(p->messages[0]); i++)
		p->messages[i] = c.messages[i] - w->before.messages[i];
	p->time = w->time;
	p->asked = c.asked;
	p->reserved = c.reserved;
	p->home = c.home;
	p->away = c.away;
	p->late = c.late;
	p->lost = c.lost;
	p->orphaned = (double)w->orphaned / RUN_TICKS / w->nodes;
	p->longest = (double)w->longest / RUN_TICKS;
	r->counts.probes = c.probes;
	r->counts.transfers = c.away;
	r->counts.changes = c.threshold_changes - w->before.threshold_changes;
	world_loads(w);
	return 0;
}
