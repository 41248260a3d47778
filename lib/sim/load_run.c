// SPDX-License-Identifier: GPL-2.0-or-later
/* Arrivals, ends of tasks and news, in the order of time. */
#include "load_run.h"

#include <errno.h>
#include <stdlib.h>

#include "load_credits.h"
#include "load_measure.h"
#include "load_node.h"
#include "load_place.h"

static const char *const run_message_names[] = { "state",     "ask",  "answer", "forward",
						 "threshold", "hint", "credit", "return" };

const char *eh_load_message_name(enum eh_load_message kind)
{
	return run_message_names[kind];
}

/* What arrives: each part has random numbers of its own, so that no policy changes the others. */
struct source {
	uint64_t when, where, work;
	double between; /* mean time between arrivals */
	double scale; /* of a trace */
	/* the number of nodes at which tasks arrive, and how far apart these are */
	uint32_t homes, apart;
	uint32_t home; /* of the next one */
};

static double run_draw(struct source *s, const struct eh_load_options *o)
{
	/* balanced means: p/a = q/b = 1/2, and a squared variation of 1/2pq - 1 = 10 */
	static const double p = 0x1.8707522ff1e38p-5; /* (1 - sqrt(9/11))/2 */
	double u, v;

	switch (o->service) {
	case EH_LOAD_HYPER:
		u = chance_uniform(&s->work);
		return chance_exponential(&s->work) / (2 * (u < p ? p : 1 - p));
	case EH_LOAD_PARETO:
		/* the larger of two has the root's distribution */
		u = 1 - chance_uniform(&s->work);
		v = 1 - chance_uniform(&s->work);
		return 0.5 / (u > v ? u : v);
	case EH_LOAD_CONSTANT:
		return 1;
	case EH_LOAD_TRACE:
		return o->trace[eh_random_below(&s->work, (uint32_t)o->ntrace)] * s->scale;
	default:
		return chance_exponential(&s->work);
	}
}

static uint32_t run_new_task(struct eh_load *load)
{
	uint32_t task = load->spare;

	if (task != LOAD_NONE) {
		load->spare = load->tasks[task].next;
		return task;
	}
	if (load->ntasks == load->task_room) {
		size_t room = load->task_room ? 2 * load->task_room : 1024;
		struct load_task *tasks = realloc(load->tasks, room * sizeof(*tasks));

		if (!tasks) {
			load->no_memory = true;
			return LOAD_NONE;
		}
		load->tasks = tasks;
		load->task_room = room;
	}
	load->tasks[load->ntasks] = (struct load_task){ 0 };
	return (uint32_t)load->ntasks++;
}

/* The home of the next task, which will be in the caches when it comes. */
static void run_look_ahead(const struct eh_load *load, struct source *s)
{
	s->home = eh_random_below(&s->where, s->homes) * s->apart;
	__builtin_prefetch(&load->nodes[s->home]);
}

static void run_arrive(struct eh_load *load, struct source *s, bool measured)
{
	uint32_t task = run_new_task(load);
	struct load_task *t;

	if (task == LOAD_NONE)
		return;
	t = &load->tasks[task];
	t->arrived = load->now;
	t->home = s->home;
	t->work = t->service = run_draw(s, load->options);
	t->measured = measured;
	load_place_arrive(load, task);
	run_look_ahead(load, s);
}

static void run_end(struct eh_load *load, uint32_t node)
{
	uint32_t task = load_node_end(load, node);
	struct load_task *t = &load->tasks[task];

	if (t->measured)
		load_measure_add(load->measure, t->home, t->service, load->now - t->arrived);
	load->computed += t->work;
	t->next = load->spare;
	load->spare = task;
	load_place_ended(load, node);
}

static void run_run(struct eh_load *load, struct source *s, eh_load_watch_fn watch, void *ctx)
{
	uint64_t arrivals = 0, tasks = load->options->tasks;
	double next = chance_exponential(&s->when) * s->between;

	run_look_ahead(load, s);
	while (!load->no_memory) {
		double due = load_place_due(load);
		double until = due < next ? due : next;
		uint32_t node = load_node_due(load, until);

		if (node != LOAD_NONE) {
			run_end(load, node);
			continue;
		}
		if (until == INFINITY)
			break;
		load->now = until;
		if (due <= next) {
			load_place_happen(load);
			continue;
		}
		run_arrive(load, s, arrivals >= tasks / 10);
		arrivals++;
		next = arrivals < tasks ? load->now + chance_exponential(&s->when) * s->between
					: INFINITY;
		if (watch && !(arrivals & 0xffff))
			watch(ctx, arrivals);
	}
	load->result->arrivals = arrivals;
}

static int run_check(const struct eh_load_options *o)
{
	const struct eh_topology *t = &o->topology;

	if (!t->n || t->n > EH_N_MAX || !t->l || t->l > EH_LEVELS_MAX ||
	    t->n * t->l > EH_LOAD_BITS_MAX || o->policy >= EH_LOAD_POLICIES ||
	    o->service > EH_LOAD_TRACE || !o->processors ||
	    o->processors > EH_LOAD_PROCESSORS_MAX || !(o->load > 0 && o->load < 1) ||
	    !(o->transfer >= 0) || !(o->age >= 0) || !(o->hold >= 0) ||
	    o->length > EH_TREE_VALUE_MAX || o->hot > 1u << t->n * t->l || !o->tasks ||
	    (o->service == EH_LOAD_TRACE && (!o->ntrace || o->ntrace > UINT32_MAX)))
		return -EINVAL;
	for (size_t i = 0; i < o->nspeeds; i++)
		if (!(o->speeds[i] > 0 && o->speeds[i] < 1e6))
			return -EINVAL;
	return 0;
}

/* Speeds of the nodes, and the rate of arrivals. */
static int run_set_up(struct eh_load *load, struct source *s)
{
	const struct eh_load_options *o = load->options;
	double all = 0, hot = 0, sum = 0;

	s->homes = o->hot && o->hot < load->size ? o->hot : load->size;
	s->apart = load->size / s->homes;
	for (uint32_t i = 0; i < load->size; i++) {
		struct load_node *n = &load->nodes[i];

		*n = (struct load_node){ .next = INFINITY,
					 .listed = INFINITY,
					 .first = LOAD_NONE,
					 .wait = { LOAD_NONE, LOAD_NONE },
					 .speed = o->nspeeds ? (float)o->speeds[i % o->nspeeds]
							     : 1 };
		all += (double)n->speed * o->processors;
		if (i % s->apart == 0 && i / s->apart < s->homes)
			hot += (double)n->speed * o->processors;
	}
	s->between = 1 / (o->load * all);
	load->capacity = all;
	s->scale = 1;
	if (o->service == EH_LOAD_TRACE) {
		for (size_t i = 0; i < o->ntrace; i++) {
			if (!(o->trace[i] > 0))
				return -EINVAL;
			sum += o->trace[i];
		}
		s->scale = (double)o->ntrace / sum;
	}
	return o->policy == EH_LOAD_LOCAL && o->load * all >= hot ? -EDOM : 0;
}

int eh_load_run(const struct eh_load_options *options, eh_load_watch_fn watch, void *ctx,
		struct eh_load_result *result)
{
	struct eh_load load = { .options = options, .result = result, .spare = LOAD_NONE };
	uint64_t seed = options->seed;
	struct source source = { 0 };
	int err = run_check(options);

	*result = (struct eh_load_result){ 0 };
	if (err)
		return err;
	source.when = eh_random(&seed);
	source.where = eh_random(&seed);
	source.work = eh_random(&seed);
	load.random = eh_random(&seed);
	load.size = 1u << options->topology.n * options->topology.l;
	err = -ENOMEM;
	load.nodes = aligned_alloc(64, load.size * sizeof(*load.nodes));
	load.measure = load_measure_new(load.size);
	if (!load.nodes || !load.measure)
		goto free;
	err = run_set_up(&load, &source);
	if (!err)
		err = load_place_init(&load);
	if (err)
		goto free;
	run_run(&load, &source, watch, ctx);
	err = load.no_memory ? -ENOMEM : 0;
	load_measure_result(load.measure, result);
	load_place_messages(&load);
	result->busy = load.computed / (load.now * load.capacity);
	result->bytes += load.size * sizeof(*load.nodes);
	if (load.credits) {
		result->bytes += load_credits_bytes(&load);
		result->busiest = load_credits_busiest(&load);
	}
free:
	load_place_free(&load);
	load_measure_free(load.measure);
	free(load.queue.memory);
	free(load.nodes);
	free(load.tasks);
	return err;
}
