// SPDX-License-Identifier: GPL-2.0-or-later
#include "search.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eh/rule.h"
#include "follow.h"
#include "lanes.h"

#define FREE_PROCESSORS_MAX 64
#define STEPS_TILL_WATCH 64
#define STEPS_TILL_JUSTIFY 16
#define NO_TASK UINT32_MAX

struct input {
	uint32_t task;
	double cost; /* of the message, when all links are alike */
	double data;
};

struct state {
	const struct dag_problem *p;
	const double *tail;
	struct dag_lanes *lanes; /* with contention */
	struct input *in;
	uint32_t *order, *place, *processor; /* place: of each task in the order */
	double *finish, *saved;
	double *ready; /* of processors, while decoding */
	uint32_t *last; /* of processors: the last task so far, or NO_TASK */
	uint32_t *before; /* of tasks: the one before it on its processor, or NO_TASK */
	uint32_t *critical, ncritical; /* tasks on a critical path of the current plan */
	bool stale; /* critical is of an older plan */
	bool follows; /* processors follow from the order: no messages, equal processors */
	uint32_t *kept; /* processors of the current plan, if decoding changes them */
	double current; /* makespan of the current plan */
	bool adaptive;
	uint32_t usable;
	uint64_t random;
	uint32_t changed; /* one past the last place whose finish the decoding has written */
	uint32_t *group, *to; /* tasks that change their processors together, and to which */
	bool *marked;
	struct dag_justify *justify; /* if processors follow from the order */
};

static void free_state(struct state *s)
{
	dag_lanes_free(s->lanes);
	free(s->in);
	free(s->order);
	free(s->place);
	free(s->processor);
	free(s->finish);
	free(s->saved);
	free(s->ready);
	free(s->last);
	free(s->before);
	free(s->critical);
	free(s->kept);
	free(s->group);
	free(s->to);
	free(s->marked);
	dag_justify_free(s->justify);
}

struct begun {
	double start;
	uint32_t task;
};

static int by_start(const void *a, const void *b)
{
	const struct begun *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->task < y->task ? -1 : x->task > y->task;
}

static int make_state(struct state *s, const struct dag_problem *p, const struct dag_schedule *from)
{
	const struct dag_graph *g = p->graph;
	uint32_t n = p->tasks;
	struct begun *list = malloc(n * sizeof(*list));

	s->in = calloc(g->edges + 1, sizeof(*s->in));
	s->order = calloc(n, sizeof(*s->order));
	s->place = malloc(n * sizeof(*s->place));
	s->processor = calloc(n, sizeof(*s->processor));
	s->finish = calloc(n, sizeof(*s->finish));
	s->saved = malloc(n * sizeof(*s->saved));
	s->ready = malloc(p->processors * sizeof(*s->ready));
	s->last = malloc(p->processors * sizeof(*s->last));
	s->before = calloc(n, sizeof(*s->before));
	s->critical = malloc(n * sizeof(*s->critical));
	s->group = malloc(n * sizeof(*s->group));
	s->to = malloc(n * sizeof(*s->to));
	s->marked = calloc(n, sizeof(*s->marked));
	if (!list || !s->in || !s->order || !s->place || !s->processor || !s->finish || !s->saved ||
	    !s->ready || !s->last || !s->before || !s->critical || !s->group || !s->to ||
	    !s->marked)
		goto failed;
	if (s->follows) {
		s->kept = malloc(n * sizeof(*s->kept));
		if (!s->kept || dag_justify_make(p, s->usable, &s->justify))
			goto failed;
	}
	if (p->contention && dag_lanes_make(p, &s->lanes))
		goto failed;
	for (uint32_t e = 0; e < g->edges; e++)
		s->in[e] = (struct input){ g->in[e].task,
					   p->machine->full ? g->in[e].data / p->machine->rate +
								      p->machine->link_startup
							    : 0,
					   g->in[e].data };
	for (uint32_t t = 0; t < n; t++) {
		list[t] = (struct begun){ from->start[t], t };
		s->processor[t] = from->processor[t];
	}
	qsort(list, n, sizeof(*list), by_start);
	for (uint32_t i = 0; i < n; i++) {
		s->order[i] = p->contention ? from->order[i] : list[i].task;
		s->place[s->order[i]] = i;
	}
	free(list);
	return 0;

failed:
	free(list);
	return -ENOMEM;
}

/* Equal processors, no messages: each task goes where the idle time before it is shortest. */
static double decode_follows(struct state *s, uint32_t first, double limit)
{
	const struct dag_graph *g = s->p->graph;
	uint32_t usable = s->usable;
	double makespan = 0;

	memset(s->ready, 0, usable * sizeof(*s->ready));
	for (uint32_t i = 0; i < first; i++) {
		uint32_t t = s->order[i];

		s->ready[s->processor[t]] = s->finish[t];
		makespan = s->finish[t] > makespan ? s->finish[t] : makespan;
	}
	s->changed = first;
	for (uint32_t i = first; i < s->p->tasks; i++) {
		uint32_t t = s->order[i], j;
		double start = 0, finish;

		for (uint32_t a = g->in_at[t]; a < g->in_at[t + 1]; a++) {
			double end = s->finish[s->in[a].task];

			start = end > start ? end : start;
		}
		j = dag_follow(s->ready, usable, &start);
		finish = start + s->p->least[t];
		s->saved[s->changed++] = s->finish[t];
		s->finish[t] = finish;
		s->processor[t] = j;
		if (finish + s->tail[t] > limit)
			return DBL_MAX;
		s->ready[j] = finish;
		makespan = finish > makespan ? finish : makespan;
	}
	return makespan;
}

/* When the data of an arc are on this processor, if they do not wait for a link. */
static inline double arrival(const struct state *s, const struct input *in, uint32_t processor)
{
	const struct dag_problem *p = s->p;
	double end = s->finish[in->task];

	if (s->processor[in->task] == processor)
		return end;
	if (p->machine->full)
		return end + in->cost;
	return end + dag_message_time(p, in->data, s->processor[in->task], processor);
}

static double decode_assigned(struct state *s, uint32_t first, double limit)
{
	const struct dag_problem *p = s->p;
	const struct dag_graph *g = p->graph;
	double makespan = 0;

	memset(s->ready, 0, p->processors * sizeof(*s->ready));
	for (uint32_t i = 0; i < first; i++) {
		uint32_t t = s->order[i];

		s->ready[s->processor[t]] = s->finish[t];
		makespan = s->finish[t] > makespan ? s->finish[t] : makespan;
	}
	s->changed = first;
	for (uint32_t i = first; i < p->tasks; i++) {
		uint32_t t = s->order[i], j = s->processor[t];
		double start = s->ready[j], finish;

		for (uint32_t a = g->in_at[t]; a < g->in_at[t + 1]; a++) {
			double end = arrival(s, &s->in[a], j);

			start = end > start ? end : start;
		}
		finish = start + dag_run_time(p, t, j);
		s->saved[s->changed++] = s->finish[t];
		s->finish[t] = finish;
		if (finish + s->tail[t] > limit)
			return DBL_MAX;
		s->ready[j] = finish;
		makespan = finish > makespan ? finish : makespan;
	}
	return makespan;
}

/* Messages of all tasks share the links, so all tasks are decoded. -1: no memory. */
static double decode_lanes(struct state *s, double limit)
{
	memcpy(s->saved, s->finish, s->p->tasks * sizeof(*s->saved));
	return dag_lanes_decode(s->lanes, s->order, s->processor, s->adaptive, s->tail, limit,
				s->finish, NULL);
}

static double decode(struct state *s, uint32_t first, double limit)
{
	if (s->lanes)
		return decode_lanes(s, limit);
	return s->follows ? decode_follows(s, first, limit) : decode_assigned(s, first, limit);
}

/* Restores the old ends, for the order that was decoded. */
static void restore(struct state *s, uint32_t first)
{
	if (s->lanes)
		memcpy(s->finish, s->saved, s->p->tasks * sizeof(*s->saved));
	else
		for (uint32_t i = first; i < s->changed; i++)
			s->finish[s->order[i]] = s->saved[i];
}

/* Fills in `before` from the order; returns the task that ends last. */
static uint32_t find_before(struct state *s)
{
	uint32_t latest = s->order[0];

	for (uint32_t j = 0; j < s->p->processors; j++)
		s->last[j] = NO_TASK;
	for (uint32_t i = 0; i < s->p->tasks; i++) {
		uint32_t t = s->order[i], j = s->processor[t];

		s->before[t] = s->last[j];
		s->last[j] = t;
		if (s->finish[t] > s->finish[latest])
			latest = t;
	}
	return latest;
}

/* What a task that starts at `start` had to wait for: the task before it on its processor, or one
 * whose data come then; one of them at random. NO_TASK: none of these ends as late. */
static uint32_t find_cause(struct state *s, uint32_t task, double start)
{
	const struct dag_graph *g = s->p->graph;
	uint32_t before = s->before[task], cause = NO_TASK, ties = 0;

	if (before != NO_TASK && s->finish[before] >= start) {
		cause = before;
		ties = 1;
	}
	for (uint32_t a = g->in_at[task]; a < g->in_at[task + 1]; a++)
		if (arrival(s, &s->in[a], s->processor[task]) >= start &&
		    !eh_random_below(&s->random, ++ties))
			cause = s->in[a].task;
	return cause;
}

/* The predecessor that ends last, or NO_TASK. */
static uint32_t last_predecessor(const struct state *s, uint32_t task)
{
	const struct dag_graph *g = s->p->graph;
	uint32_t last = NO_TASK;

	for (uint32_t a = g->in_at[task]; a < g->in_at[task + 1]; a++)
		if (last == NO_TASK || s->finish[s->in[a].task] > s->finish[last])
			last = s->in[a].task;
	return last;
}

/* Backwards from the task that ends last: what each task had to wait for. */
static void find_critical(struct state *s)
{
	uint32_t t = find_before(s);
	double slack = 1e-9 * s->finish[t];

	s->ncritical = 0;
	do {
		double start = s->finish[t] - dag_run_time(s->p, t, s->processor[t]) - slack;
		uint32_t cause;

		s->critical[s->ncritical++] = t;
		if (start <= 0)
			break;
		cause = find_cause(s, t, start);
		/* with contention its message may have waited for others */
		t = cause != NO_TASK ? cause : last_predecessor(s, t);
	} while (t != NO_TASK);
	s->stale = false;
}

/* A change: where a task was, and where it goes in the list; how many tasks get other processors. */
struct change {
	uint32_t task, place, to_place, count;
};

static void shift(struct state *s, uint32_t task, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		s->place[s->order[i] = s->order[i + 1]] = i;
	for (uint32_t i = from; i > to; i--)
		s->place[s->order[i] = s->order[i - 1]] = i;
	s->order[to] = task;
	s->place[task] = to;
}

static uint32_t random_processor(struct state *s, uint32_t task)
{
	const struct dag_graph *g = s->p->graph;
	uint32_t in = g->in_at[task + 1] - g->in_at[task];
	uint32_t out = g->out_at[task + 1] - g->out_at[task];
	uint32_t pick = eh_random_below(&s->random, 4);

	if (pick == 0 && in)
		return s->processor[s->in[g->in_at[task] + eh_random_below(&s->random, in)].task];
	if (pick == 1 && out)
		return s->processor[g->out[g->out_at[task] + eh_random_below(&s->random, out)]
					    .task];
	return eh_random_below(&s->random, s->usable);
}

static uint32_t random_place(struct state *s, uint32_t task)
{
	const struct dag_graph *g = s->p->graph;
	uint32_t low = 0, high = s->p->tasks - 1;

	for (uint32_t a = g->in_at[task]; a < g->in_at[task + 1]; a++)
		if (s->place[s->in[a].task] + 1 > low)
			low = s->place[s->in[a].task] + 1;
	for (uint32_t a = g->out_at[task]; a < g->out_at[task + 1]; a++)
		if (s->place[g->out[a].task] - 1 < high)
			high = s->place[g->out[a].task] - 1;
	return low + eh_random_below(&s->random, high - low + 1);
}

static void add_move(struct state *s, struct change *c, uint32_t task, uint32_t processor)
{
	s->group[c->count] = task;
	s->to[c->count++] = processor;
}

/* The task with its descendants, or with its ancestors, on the same processor. If messages take
 * long, a part of the graph moves as a whole or not at all. */
static void gather_group(struct state *s, struct change *c, uint32_t processor, bool descendants)
{
	const struct dag_graph *g = s->p->graph;
	const uint32_t *at = descendants ? g->out_at : g->in_at;
	const struct dag_arc *arcs = descendants ? g->out : g->in;
	uint32_t from = s->processor[c->task];

	add_move(s, c, c->task, processor);
	s->marked[c->task] = true;
	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t t = s->group[i];

		for (uint32_t a = at[t]; a < at[t + 1]; a++) {
			uint32_t x = arcs[a].task;

			if (s->marked[x] || s->processor[x] != from)
				continue;
			s->marked[x] = true;
			add_move(s, c, x, processor);
		}
	}
	for (uint32_t i = 0; i < c->count; i++)
		s->marked[s->group[i]] = false;
}

/* Two processors exchange all tasks from the place of this one on. */
static void exchange_ends(struct state *s, struct change *c, uint32_t processor)
{
	uint32_t from = s->processor[c->task];

	for (uint32_t i = c->place; i < s->p->tasks; i++) {
		uint32_t t = s->order[i];

		if (s->processor[t] == from)
			add_move(s, c, t, processor);
		else if (s->processor[t] == processor)
			add_move(s, c, t, from);
	}
}

static void pick_task(struct state *s, struct change *c)
{
	if (s->stale)
		find_critical(s);
	if (eh_random_below(&s->random, 8) < 6)
		c->task = s->critical[eh_random_below(&s->random, s->ncritical)];
	else
		c->task = eh_random_below(&s->random, s->p->tasks);
	c->place = c->to_place = s->place[c->task];
	c->count = 0;
}

/* False: nothing would change. */
static bool pick_change(struct state *s, struct change *c)
{
	uint32_t kind = eh_random_below(&s->random, 11), from, to;

	pick_task(s, c);
	if (s->follows || kind < 5)
		c->to_place = random_place(s, c->task);
	if (s->follows || kind == 0)
		return c->to_place != c->place;
	from = s->processor[c->task];
	to = random_processor(s, c->task);
	if (kind > 8) {
		/* two tasks exchange their processors */
		uint32_t other = eh_random_below(&s->random, s->p->tasks);

		to = s->processor[other];
		if (to != from)
			add_move(s, c, other, from);
	}
	if (to == from)
		return c->to_place != c->place;
	if (kind == 6)
		exchange_ends(s, c, to);
	else if (kind == 7 || kind == 8)
		gather_group(s, c, to, kind == 8);
	else
		add_move(s, c, c->task, to);
	return true;
}

static void record(const struct state *s, double makespan, struct dag_schedule *best)
{
	for (uint32_t t = 0; t < s->p->tasks; t++) {
		best->processor[t] = s->processor[t];
		best->finish[t] = s->finish[t];
		best->start[t] = s->finish[t] - dag_run_time(s->p, t, s->processor[t]);
	}
	memcpy(best->order, s->order, s->p->tasks * sizeof(*s->order));
	best->makespan = makespan;
}

/* The second call undoes the first. */
static void exchange_processors(struct state *s, const struct change *c)
{
	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t *processor = &s->processor[s->group[i]], old = *processor;

		*processor = s->to[i];
		s->to[i] = old;
	}
}

/* The first place in the list that the change affects. */
static uint32_t first_place(const struct state *s, const struct change *c)
{
	uint32_t first = c->place < c->to_place ? c->place : c->to_place;

	for (uint32_t i = 0; i < c->count; i++)
		if (s->place[s->group[i]] < first)
			first = s->place[s->group[i]];
	return first;
}

static void accept(struct state *s, double makespan, struct dag_schedule *best)
{
	s->current = makespan;
	s->stale = true;
	if (s->kept)
		memcpy(s->kept, s->processor, s->p->tasks * sizeof(*s->kept));
	if (makespan < best->makespan)
		record(s, makespan, best);
}

/* Changes the plan, and changes it back if it becomes longer than `limit`. 0 or -ENOMEM. */
static int try_change(struct state *s, const struct change *c, double limit,
		      struct dag_schedule *best)
{
	uint32_t first = first_place(s, c), tasks = s->p->tasks;
	double makespan;

	exchange_processors(s, c);
	shift(s, c->task, c->place, c->to_place);
	makespan = decode(s, first, limit);
	if (makespan < 0)
		return -ENOMEM;
	if (makespan > limit) {
		restore(s, first);
		shift(s, c->task, c->to_place, c->place);
		if (s->kept)
			memcpy(s->processor, s->kept, tasks * sizeof(*s->kept));
		else
			exchange_processors(s, c);
		return 0;
	}
	accept(s, makespan, best);
	return 0;
}

/* Annealing takes long to shift many tasks by a little; this does so at once. */
static void justify(struct state *s, struct dag_schedule *best)
{
	dag_justify(s->justify, s->order, s->finish);
	for (uint32_t i = 0; i < s->p->tasks; i++)
		s->place[s->order[i]] = i;
	accept(s, decode(s, 0, DBL_MAX), best);
}

/* The temperature at the start: of the order of what a change adds, a task or a message. */
static double first_heat(const struct dag_problem *p, double hot, double mean)
{
	double message = 0;

	for (uint32_t e = 0; e < p->graph->edges; e++)
		message +=
			(p->mean_startup + p->graph->out[e].data * p->mean_unit) / p->graph->edges;
	return hot * (mean + message);
}

static int anneal(struct state *s, const struct dag_bound *bound, const struct dag_search *how,
		  struct plan_watch *watch, struct dag_schedule *best)
{
	double mean = 0, heat, cooling;
	int err = 0;

	for (uint32_t t = 0; t < s->p->tasks; t++)
		mean += s->p->mean[t] / s->p->tasks;
	heat = first_heat(s->p, how->hot, mean);
	cooling = pow(how->cold * mean / heat, (double)STEPS_TILL_WATCH / how->steps);
	for (uint64_t step = 0; step < how->steps && best->makespan > bound->length && !err;
	     step++) {
		struct change c;
		double limit;

		if (step % STEPS_TILL_WATCH == STEPS_TILL_WATCH - 1) {
			heat *= cooling;
			plan_watch_progress(watch, "searching", step, how->steps);
			if (plan_watch_over(watch))
				break;
		}
		if (s->justify && step % STEPS_TILL_JUSTIFY == STEPS_TILL_JUSTIFY - 1) {
			justify(s, best);
			continue;
		}
		if (!pick_change(s, &c))
			continue;
		limit = s->current - heat * log(((eh_random(&s->random) >> 11) + 1) * 0x1p-53);
		err = try_change(s, &c, limit, best);
	}
	return err;
}

/* The plan that the search starts from, decoded. 0 or -ENOMEM. */
static int decode_first(struct state *s, struct dag_schedule *best)
{
	double makespan = decode(s, 0, DBL_MAX);

	if (makespan < 0)
		return -ENOMEM;
	accept(s, makespan, best);
	return 0;
}

int dag_search(const struct dag_problem *p, const struct dag_bound *bound,
	       const struct dag_search *how, struct plan_watch *watch, struct dag_schedule *best)
{
	struct state s = { .p = p,
			   .tail = bound->tail,
			   .random = how->seed,
			   .adaptive = how->adaptive,
			   .usable = p->processors };
	int err;

	if (p->tasks < 2 || p->processors < 2 || best->makespan <= bound->length)
		return 0;
	/* of equal processors no plan needs more than there are tasks */
	if (p->same && p->machine->full && s.usable > p->tasks)
		s.usable = p->tasks;
	s.follows = p->same && p->silent && s.usable <= FREE_PROCESSORS_MAX;
	err = make_state(&s, p, best);
	if (!err)
		err = decode_first(&s, best);
	if (!err)
		err = anneal(&s, bound, how, watch, best);
	free_state(&s);
	return err;
}
