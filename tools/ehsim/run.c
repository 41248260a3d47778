// SPDX-License-Identifier: GPL-2.0-or-later
/* Pure: the decision core, random numbers, and no clock but its own. */
#include "run.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/chance.h"
#include "world_run.h"

struct run {
	const struct run_options *options;
	const struct run_watch *watch;
	struct run_result *result;
	struct eh_tree *tree; /* this or `world`; the other is NULL */
	struct world_run *world;
	uint64_t random, clock; /* random numbers: arrivals; times in a world */
	uint64_t now; /* in ticks */
	uint64_t arrivals; /* so far */
	uint32_t *live; /* random arrivals in a tree: nodes of the tasks that run */
	size_t count, room;
	uint32_t *where; /* traces, by task: its node; in a world the task itself */
};

static int run_remember(struct run *run, uint32_t node)
{
	if (run->count == run->room) {
		size_t room = run->room ? 2 * run->room : 1024;
		uint32_t *live = realloc(run->live, room * sizeof(*live));

		if (!live)
			return -ENOMEM;
		run->live = live;
		run->room = room;
	}
	run->live[run->count++] = node;
	return 0;
}

static int run_arrive(struct run *run, uint32_t task, uint32_t node, uint64_t size, uint32_t *to)
{
	const struct eh_tree_event event = { .type = EH_TREE_ARRIVE, .node = node, .size = size };
	const struct run_watch *watch = run->watch;
	struct eh_tree_update update = { 0 };
	int err;

	if (run->world) {
		*to = task;
		err = world_run_arrive(run->world, task, node, size);
		goto counted;
	}
	err = eh_tree_step(run->tree, &event, run->now, &update);
	if (err)
		return err;
	if (update.refused && !run->result->refused) {
		uint64_t min, max;

		run->result->refused = true;
		run_loads(run->tree, &run->options->tree.topology, &min, &max,
			  &run->result->first_refusal);
	}
	*to = update.refused ? UINT32_MAX : update.node;
	if (watch && watch->decided)
		watch->decided(watch->ctx, task, node, &update);
counted:
	run->arrivals++;
	if (watch && watch->sampled && run->arrivals % watch->every == 0)
		watch->sampled(watch->ctx, run->arrivals, run->tree);
	return err;
}

/* `where`: the node; in a world the task. */
static int run_finish(struct run *run, uint32_t where, uint64_t size)
{
	const struct eh_tree_event event = { .type = EH_TREE_FINISH, .node = where, .size = size };
	struct eh_tree_update update;

	if (run->world) {
		world_run_finish(run->world, where);
		return 0;
	}
	return eh_tree_step(run->tree, &event, run->now, &update);
}

static int run_pass(struct run *run)
{
	if (run->world) /* by a clock of its own: the arrivals are those of the tree without delay */
		return world_run_pass(run->world, chance_exponential(&run->clock));
	if (run->options->delay > 0)
		run->now += (uint64_t)(chance_exponential(&run->random) * RUN_TICKS);
	return 0;
}

static int run_replay(struct run *run)
{
	const struct trace *trace = run->options->trace;

	run->where = calloc(trace->tasks ? trace->tasks : 1, sizeof(run->where[0]));
	if (!run->where)
		return -ENOMEM;
	for (size_t i = 0; i < trace->count; i++) {
		const struct trace_event *event = &trace->events[i];
		uint32_t *where = &run->where[event->task];
		int err = 0;

		if (!event->finish) {
			err = run_pass(run);
			if (!err)
				err = run_arrive(run, event->task, event->node, event->size, where);
		} else if (*where != UINT32_MAX) { /* it was not refused */
			err = run_finish(run, *where, event->size);
		}
		if (err)
			return err;
	}
	return 0;
}

/* Random arrivals, at random nodes. */
static int run_invent(struct run *run)
{
	const struct run_options *o = run->options;
	uint32_t nodes = 1u << o->tree.topology.n * o->tree.topology.l, to;
	int err;

	for (uint64_t i = 0; i < o->arrivals; i++) {
		err = run_pass(run);
		if (!err)
			err = run_arrive(run, (uint32_t)i, eh_random_below(&run->random, nodes),
					 EH_TASK, &to);
		if (err)
			return err;
		if (o->release <= 0)
			continue;
		if (run->world) {
			if (chance_uniform(&run->random) < o->release)
				world_run_release(run->world, chance_uniform(&run->random));
			continue;
		}
		if (to != UINT32_MAX && run_remember(run, to))
			return -ENOMEM;
		if (run->count && chance_uniform(&run->random) < o->release) {
			size_t k = (size_t)(chance_uniform(&run->random) * (double)run->count);
			uint32_t node = run->live[k];

			run->live[k] = run->live[--run->count];
			err = run_finish(run, node, EH_TASK);
			if (err)
				return err;
		}
	}
	return 0;
}

void run_loads(const struct eh_tree *tree, const struct eh_topology *topology, uint64_t *min,
	       uint64_t *max, uint64_t *total)
{
	*min = UINT64_MAX;
	*max = *total = 0;
	for (uint32_t i = 0; i < 1u << topology->n * topology->l; i++) {
		uint64_t load = eh_tree_load(tree, i);

		*min = load < *min ? load : *min;
		*max = load > *max ? load : *max;
		*total += load;
	}
}

uint64_t run_arrivals(const struct run_options *options)
{
	return options->trace ? trace_arrivals(options->trace) : options->arrivals;
}

int run_once(const struct run_options *options, uint64_t seed, const struct run_watch *watch,
	     struct run_result *result)
{
	struct eh_tree_options tree = options->tree;
	struct run run = { .options = options, .watch = watch, .result = result };
	int err = -ENOMEM;

	*result = (struct run_result){ 0 };
	/* Arrivals and choices among equals have random numbers of their own, so that all
	 * policies get the same arrivals. */
	run.random = eh_random(&seed);
	tree.seed = eh_random(&seed);
	tree.lag = (uint64_t)(options->delay * RUN_TICKS);
	if (options->messages) {
		run.world = world_run_new(options, tree.seed, watch, result);
		run.clock = eh_random(&seed);
	} else {
		run.tree = eh_tree_new(&tree);
	}
	if (!run.tree && !run.world)
		return -ENOMEM;
	err = options->trace ? run_replay(&run) : run_invent(&run);
	if (!err && run.world)
		err = world_run_end(run.world);
	if (err || run.world)
		goto free;
	result->counts = *eh_tree_counts(run.tree);
	result->bytes = eh_tree_bytes(run.tree);
	run_loads(run.tree, &tree.topology, &result->load_min, &result->load_max,
		  &result->load_total);
free:
	free(run.where);
	free(run.live);
	eh_tree_free(run.tree);
	world_run_free(run.world);
	return err;
}
