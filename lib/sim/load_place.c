// SPDX-License-Identifier: GPL-2.0-or-later
#include "load_place.h"

#include <errno.h>
#include <stdlib.h>

#include "eh/idle.h"
#include "load_credits.h"
#include "load_node.h"
#include "load_wait.h"

/* ---- free nodes, for those that need no tree ---- */

static void place_pool_add(struct eh_load *load, uint32_t node)
{
	if (load->place[node] != LOAD_NONE)
		return;
	load->place[node] = load->npool;
	load->pool[load->npool++] = node;
}

static void place_pool_remove(struct eh_load *load, uint32_t node)
{
	uint32_t last;

	if (load->place[node] == LOAD_NONE)
		return;
	last = load->pool[--load->npool];
	load->pool[load->place[node]] = last;
	load->place[last] = load->place[node];
	load->place[node] = LOAD_NONE;
}

static uint32_t place_pool_pick(struct eh_load *load)
{
	return load->npool ? load->pool[eh_random_below(&load->random, load->npool)] : LOAD_NONE;
}

/* ---- news ---- */

static void place_learn(struct eh_load *load, uint32_t node)
{
	if (load_free(load, node))
		place_pool_add(load, node);
	else
		place_pool_remove(load, node);
}

/* The node says that a task began or ended. `news`: it has a free processor now, or had one before. */
static void place_tell(struct eh_load *load, uint32_t node, bool news)
{
	if (load->credits) {
		load_credits_tell(load, node);
		return;
	}
	if (!load->pool)
		return;
	if (load->options->policy == EH_LOAD_JIQ)
		load_count(load, EH_LOAD_CREDIT, 0, 1);
	if (!news)
		return;
	if (!(load->options->age > 0)) {
		place_learn(load, node);
		return;
	}
	if (!ring_add(&load->news, &(struct load_news){ load->now + load->options->age, node }))
		load->no_memory = true;
}

/* ---- the tree ---- */

static uint64_t place_ticks(const struct eh_load *load)
{
	return (uint64_t)(load->now * LOAD_TICKS);
}

static void place_tree_step(struct eh_load *load, enum eh_tree_event_type type, uint32_t node,
			    uint64_t size, struct eh_tree_update *up)
{
	const struct eh_tree_event event = { .type = type, .node = node, .size = size };

	if (load->tree && eh_tree_step(load->tree, &event, place_ticks(load), up))
		load->no_memory = true;
}

/* A task has begun or ended on a node, by no decision of the tree's. */
static void place_tree_moved(struct eh_load *load, uint32_t node, int32_t more)
{
	struct eh_tree_update up;

	if (!load->behind) {
		place_tree_step(load, more > 0 ? EH_TREE_PLACE : EH_TREE_FINISH, node, EH_TASK,
				&up);
		return;
	}
	if (!load->behind[node].listed) {
		load->behind[node].listed = true;
		load->late[load->nlate++] = node;
	}
	load->behind[node].tasks += more;
}

/* Nothing but an ask looks at the tree, so it need not be up to date before. */
static void place_tree_catch_up(struct eh_load *load)
{
	struct eh_tree_update up;

	while (load->nlate) {
		uint32_t node = load->late[--load->nlate];
		int32_t tasks = load->behind[node].tasks;

		load->behind[node].tasks = 0;
		load->behind[node].listed = false;
		if (tasks)
			place_tree_step(load, tasks > 0 ? EH_TREE_PLACE : EH_TREE_FINISH, node,
					(uint64_t)abs(tasks) * EH_TASK, &up);
	}
}

/* Asks the thresholds: the node. */
static uint32_t place_threshold_ask(struct eh_load *load, uint32_t home)
{
	unsigned int l = load->options->topology.l;
	struct eh_tree_update up = { .node = home };

	place_tree_catch_up(load);
	place_tree_step(load, EH_TREE_ARRIVE, home, EH_TASK, &up);
	for (unsigned int i = 0; i < up.probes; i++) {
		load_count(load, EH_LOAD_ASK, i % l + 1, 1);
		if (i < l)
			load_count(load, EH_LOAD_ANSWER, i + 1, 1);
	}
	return up.node;
}

/* ---- placements ---- */

static uint32_t place_busy(const struct load_node *n)
{
	return n->running + n->waiting;
}

static void place_start(struct eh_load *load, uint32_t node, uint32_t task)
{
	if (node != load->tasks[task].home) {
		load->tasks[task].work += load->options->transfer;
		load->result->transfers++;
	}
	load_node_start(load, node, task);
}

/* The controllers do not know of it, and are told. */
static void place_start_untold(struct eh_load *load, uint32_t node, uint32_t task)
{
	bool was_free = load_free(load, node) > 0;

	place_start(load, node, task);
	place_tell(load, node, was_free);
}

/* By the speeds of both, which homes have learned. */
static bool place_is_slower(const struct eh_load *load, uint32_t home,
			    const struct eh_credit *credit)
{
	const struct load_node *n = load->nodes;
	const double slow = 1000.0 * n[home].speed / n[credit->node].speed;

	return eh_idle_is_slower(slow < UINT32_MAX ? (unsigned int)slow : UINT32_MAX, credit->tier,
				 place_busy(&n[home]), load_processors(load));
}

static void place_answered(struct eh_load *load, uint32_t task, const struct eh_credit *credit)
{
	struct load_task *t = &load->tasks[task];

	t->wants++;
	if (credit && place_is_slower(load, t->home, credit)) {
		load->result->declined++;
		load_credits_return(load, t->home, credit);
		if (t->wants < EH_IDLE_WANTS)
			load_credits_want(load, task);
		else
			place_start_untold(load, t->home, task);
	} else if (!credit) {
		place_start_untold(load, place_threshold_ask(load, t->home), task);
	} else if (load_credits_accept(load, credit)) {
		load->result->credits++;
		place_tree_moved(load, credit->node, 1);
		place_start(load, credit->node, task);
	} else {
		/* It was used since; the node says so, and that is under way. */
		load->result->declined++;
		if (t->wants < EH_IDLE_WANTS)
			load_credits_want(load, task);
		else
			place_start_untold(load, place_threshold_ask(load, t->home), task);
	}
}

static uint32_t place_pick_of_two(struct eh_load *load, uint32_t home)
{
	uint32_t other = (home + 1 + eh_random_below(&load->random, load->size - 1)) % load->size;
	const struct load_node *n = load->nodes;

	load_count(load, EH_LOAD_ASK, 0, 1);
	load_count(load, EH_LOAD_ANSWER, 0, 1);
	return (double)place_busy(&n[other]) * n[home].speed <
			       (double)place_busy(&n[home]) * n[other].speed
		       ? other
		       : home;
}

static uint32_t place_pick_idle(struct eh_load *load)
{
	uint32_t node = place_pool_pick(load);

	load_count(load, EH_LOAD_ASK, 0, 1);
	load_count(load, EH_LOAD_ANSWER, 0, 1);
	if (node == LOAD_NONE)
		return eh_random_below(&load->random, load->size);
	place_pool_remove(load, node);
	return node;
}

void load_place_arrive(struct eh_load *load, uint32_t task)
{
	enum eh_load_policy policy = load->options->policy;
	uint32_t home = load->tasks[task].home;
	bool free = load_free(load, home) > 0;

	if (policy == EH_LOAD_LOCAL) {
		place_start(load, home, task);
	} else if (policy == EH_LOAD_TWO) {
		place_start(load, place_pick_of_two(load, home), task);
	} else if (policy == EH_LOAD_ETA || policy == EH_LOAD_ETA1 || policy == EH_LOAD_HINT) {
		place_start(load, place_threshold_ask(load, home), task);
	} else if (free) {
		place_tree_moved(load, home, 1);
		place_start_untold(load, home, task);
	} else if (policy == EH_LOAD_JIQ) {
		place_start_untold(load, place_pick_idle(load), task);
	} else if (policy == EH_LOAD_IDLE) {
		load->tasks[task].wants = 0;
		load_credits_want(load, task);
	} else if (load->npool) {
		place_start_untold(load, place_pool_pick(load), task);
	} else {
		load_wait_add(load, task);
	}
}

void load_place_ended(struct eh_load *load, uint32_t node)
{
	const bool is_free = load_free(load, node) > 0;
	uint32_t task = LOAD_NONE;

	place_tree_moved(load, node, -1);
	if (is_free && load->waits)
		task = load_wait_take(load, node);
	if (task == LOAD_NONE && is_free && load->waits)
		task = load_wait_take_oldest(load);
	if (task == LOAD_NONE) {
		place_tell(load, node, is_free);
		return;
	}
	load->result->held++;
	place_tree_moved(load, node, 1);
	place_start(load, node, task);
}

double load_place_due(struct eh_load *load)
{
	const struct load_news *news = ring_first(&load->news);

	if (load->credits)
		return load_credits_due(load);
	return news ? news->due : INFINITY;
}

void load_place_happen(struct eh_load *load)
{
	uint32_t node;

	if (load->credits) {
		load_credits_happen(load);
		return;
	}
	node = ((struct load_news *)ring_first(&load->news))->node;
	ring_drop(&load->news);
	place_learn(load, node);
}

/* ---- set-up and end ---- */

static struct eh_tree *place_new_tree(const struct eh_load_options *o, uint64_t seed)
{
	uint64_t least = o->processors * EH_TASK;
	const struct eh_tree_options options = {
		.topology = o->topology,
		.policy = o->policy == EH_LOAD_ETA1   ? EH_ETA1
			  : o->policy == EH_LOAD_HINT ? EH_HINT
						      : EH_ETA,
		.threshold = least,
		.floor = least,
		.length = o->length,
		.lag = (uint64_t)(o->age * LOAD_TICKS),
		.seed = seed,
	};

	return eh_tree_new(&options);
}

int load_place_init(struct eh_load *load)
{
	const struct eh_load_options *o = load->options;
	enum eh_load_policy p = o->policy;

	load->news.each = sizeof(struct load_news);
	if (p == EH_LOAD_JIQ || p == EH_LOAD_SHARED) {
		load->pool = calloc(load->size, sizeof(*load->pool));
		load->place = calloc(load->size, sizeof(*load->place));
		if (!load->pool || !load->place)
			return -ENOMEM;
		for (uint32_t i = 0; i < load->size; i++)
			load->pool[i] = load->place[i] = i;
		load->npool = load->size;
	}
	if (p == EH_LOAD_IDLE) {
		if (!(o->age > 0)) {
			load->behind = calloc(load->size, sizeof(*load->behind));
			load->late = calloc(load->size, sizeof(*load->late));
			if (!load->behind || !load->late)
				return -ENOMEM;
		}
	}
	if (p == EH_LOAD_ETA || p == EH_LOAD_ETA1 || p == EH_LOAD_HINT || p == EH_LOAD_IDLE) {
		load->tree = place_new_tree(o, eh_random(&load->random));
		if (!load->tree)
			return -ENOMEM;
	}
	if ((p == EH_LOAD_IDLE || p == EH_LOAD_SHARED) && load_wait_init(load))
		return -ENOMEM;
	return p == EH_LOAD_IDLE ? load_credits_init(load, place_answered) : 0;
}

void load_place_free(struct eh_load *load)
{
	load_wait_free(load);
	load_credits_free(load);
	eh_tree_free(load->tree);
	free(load->behind);
	free(load->late);
	free(load->pool);
	free(load->place);
	ring_free(&load->news);
}

void load_place_messages(struct eh_load *load)
{
	const struct eh_topology *t = &load->options->topology;
	unsigned int some = t->l == 2 ? 2 : t->l == 1 ? 1 : 0;
	const struct eh_tree_counts *c;
	uint64_t states;

	if (!load->tree)
		return;
	c = eh_tree_counts(load->tree);
	/* with credits the tree has not heard of all, as it is not always asked */
	states = load->credits ? 2 * load->result->arrivals : c->arrivals + c->finishes;
	for (unsigned int level = 1; level <= t->l; level++) {
		load_count(load, EH_LOAD_STATE, level, states);
		load_count(load, EH_LOAD_THRESHOLD, level, c->changes << t->n * (t->l - level + 1));
	}
	if (!load->credits)
		load_count(load, EH_LOAD_STATE, t->l, c->state_messages - states * t->l);
	load_count(load, EH_LOAD_FORWARD, some, c->forwards);
	load_count(load, EH_LOAD_HINTED, some, c->hint_messages);
	load->result->changes = c->changes;
	load->result->declined += c->missed;
	load->result->bytes += eh_tree_bytes(load->tree);
}
