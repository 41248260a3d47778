// SPDX-License-Identifier: GPL-2.0-or-later
#include "solve.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "exact.h"
#include "lanes.h"
#include "list.h"
#include "order.h"
#include "replay.h"
#include "search.h"

#define LISTS_PAIRS_MAX ((uint64_t)1 << 22) /* of task and processor, for more than one list */
#define AHEAD_PAIRS_MAX ((uint64_t)1 << 18)
#define SEARCH_TASKS_MAX 5000
#define SEARCH_PROCESSORS_MAX 4096
#define SMALL_TASKS 40
#define EXACT_NODES_MAX ((uint64_t)1 << 40)

struct solver {
	const struct dag_problem *p;
	const struct dag_options *o;
	struct plan_watch *watch;
	struct dag_plan *plan;
	struct dag_bound bound;
	struct dag_schedule other; /* the one that is tried */
	struct dag_schedule trial, settled; /* with contention */
	struct dag_lanes *lanes; /* with contention */
	double *priority, *ahead;
	uint32_t *order;
};

static bool is_done(const struct solver *s)
{
	return s->plan->schedule.makespan <= s->bound.length || plan_watch_over(s->watch);
}

static void keep_better(struct solver *s)
{
	if (s->other.makespan < s->plan->schedule.makespan)
		dag_schedule_copy(&s->plan->schedule, &s->other);
}

/* Places one list. Running out of time is not an error, because there is a plan already. */
static int try_list(struct solver *s, enum dag_priority priority, const double *ahead)
{
	int err;

	dag_priorities(s->p, &s->bound, priority, s->priority);
	err = dag_order(s->p, s->priority, s->order);
	if (!err)
		err = s->p->contention ? dag_lanes_list(s->lanes, s->order, s->watch, &s->other)
				       : dag_list(s->p, s->order, ahead, s->watch, &s->other);
	if (!err)
		keep_better(s);
	return err == -ECANCELED ? 0 : err;
}

static int try_lists(struct solver *s)
{
	uint64_t pairs = (uint64_t)s->p->tasks * s->p->processors;
	int err = try_list(s, DAG_B_LEVEL, NULL);

	if (s->o->method == DAG_HEFT || pairs > LISTS_PAIRS_MAX)
		return err;
	for (int i = 1; i < DAG_PRIORITIES && !err && !is_done(s); i++)
		err = try_list(s, i, NULL);
	if (err || s->p->contention || s->p->same || pairs > AHEAD_PAIRS_MAX || is_done(s))
		return err;
	s->ahead = malloc(pairs * sizeof(*s->ahead));
	if (!s->ahead)
		return -ENOMEM;
	dag_list_ahead(s->p, s->ahead);
	for (int i = 0; i < DAG_PRIORITIES && !err && !is_done(s); i++)
		err = try_list(s, i, s->ahead);
	return err;
}

/* Up to 40 tasks these take about 1 ms, or 5 ms with messages; up to 200 about 20 ms, above 10 ms,
 * where lists also take time. A message that waits costs several times as much as one that does
 * not. */
static uint64_t default_steps(const struct dag_problem *p)
{
	uint64_t size = p->tasks + p->graph->edges, visits = 2000000, most = 60000, times = 1;

	if (p->tasks <= SMALL_TASKS) {
		visits = 350000;
		most = 10000;
	} else if (p->tasks <= 200 || p->contention) {
		visits = 5000000;
	}
	if (!p->silent)
		times = p->tasks <= SMALL_TASKS ? 4 : 2;
	return times * (visits / size < most ? visits / size : most);
}

/* Decodes the list again, with its messages. */
static int decode(struct solver *s, bool adaptive, struct dag_schedule *out,
		  struct dag_messages *messages)
{
	double makespan = dag_lanes_decode(s->lanes, out->order, out->processor, adaptive, NULL,
					   DBL_MAX, out->finish, messages);

	if (makespan < 0)
		return -ENOMEM;
	for (uint32_t t = 0; t < s->p->tasks; t++)
		out->start[t] = out->finish[t] - dag_run_time(s->p, t, out->processor[t]);
	out->makespan = makespan;
	return 0;
}

/* Decodes a plan's messages in one of two ways, and keeps the best replay: what happens when links
 * serve messages first come, first served, as real ones do. */
static int settle_as(struct solver *s, const struct dag_schedule *plan, bool adaptive)
{
	struct dag_messages messages = { 0 };
	int err;

	dag_schedule_copy(&s->trial, plan);
	err = decode(s, adaptive, &s->trial, &messages);
	if (!err)
		err = dag_replay(s->p, &s->trial, &messages);
	if (err || s->trial.makespan >= s->settled.makespan) {
		dag_messages_end(&messages);
		return err;
	}
	dag_schedule_copy(&s->settled, &s->trial);
	dag_messages_end(&s->plan->messages);
	s->plan->messages = messages;
	return 0;
}

/* With contention: messages on the routes without waiting, and on routes that were searched. */
static int settle(struct solver *s, const struct dag_schedule *plan)
{
	int err = settle_as(s, plan, false);

	return err ? err : settle_as(s, plan, true);
}

/* When messages take long, plans differ most in how tasks are grouped, and a cool search rarely
 * changes that. So there are several, in turn from the best plan so far and from one without
 * messages. A cool one is better for most graphs; a hot one is not as far off for the others. */
static int search_rounds(struct solver *s, uint64_t steps)
{
	static const double hot[] = { 0.1, 0.3, 0.1, 1 };
	int rounds = s->p->tasks <= SMALL_TASKS ? 8 : 4, err = 0;
	struct dag_search how = { .steps = steps / rounds + 1, .cold = 0.01 };

	for (int i = 0; i < rounds && !err && !is_done(s); i++) {
		how.seed = s->o->seed + i;
		how.hot = hot[i % 4];
		if (i % 2)
			dag_schedule_alone(s->p, &s->other);
		else
			dag_schedule_copy(&s->other, &s->plan->schedule);
		err = dag_search(s->p, &s->bound, &how, s->watch, &s->other);
		keep_better(s);
		if (!err && s->p->contention)
			err = settle(s, &s->plan->schedule);
	}
	return err;
}

static int search(struct solver *s)
{
	struct dag_search how = { .seed = s->o->seed, .hot = 0.05, .cold = 0.005 };
	int err = 0;

	how.steps = s->o->steps ? s->o->steps : default_steps(s->p);
	if ((s->p->tasks > SEARCH_TASKS_MAX && !s->o->steps) ||
	    s->p->processors > SEARCH_PROCESSORS_MAX)
		return 0;
	if (s->p->contention)
		err = settle(s, &s->plan->schedule);
	if (err)
		return err;
	if (!s->p->silent || !s->p->same)
		return search_rounds(s, how.steps);
	return dag_search(s->p, &s->bound, &how, s->watch, &s->plan->schedule);
}

/* Branch and bound, if it is likely to finish. */
static int branch(struct solver *s)
{
	uint64_t nodes = s->o->method == DAG_EXACT ? EXACT_NODES_MAX : 8000;
	bool complete = false;
	int err;

	if (s->p->contention || (s->o->method != DAG_EXACT && s->p->tasks > SMALL_TASKS))
		return 0;
	err = dag_exact(s->p, &s->bound, nodes, s->watch, &s->plan->schedule, &complete);
	if (complete)
		s->plan->optimal = true;
	return err;
}

/* If waiting messages have made a plan worse than one processor. */
static int finish(struct solver *s)
{
	struct dag_schedule *best = &s->plan->schedule;
	int err = s->p->contention ? settle(s, best) : 0;

	if (err)
		return err;
	if (s->p->contention)
		dag_schedule_copy(best, &s->settled);
	dag_schedule_alone(s->p, &s->other);
	if (s->other.makespan < best->makespan) {
		dag_schedule_copy(best, &s->other);
		dag_messages_end(&s->plan->messages);
	}
	return s->p->contention ? 0 : dag_messages_make(s->p, best, &s->plan->messages);
}

int dag_solve(const struct dag_problem *p, const struct dag_options *options,
	      struct plan_watch *watch, struct dag_plan *plan)
{
	struct solver s = { .p = p, .o = options, .watch = watch, .plan = plan };
	int err;

	*plan = (struct dag_plan){ 0 };
	err = dag_schedule_make(p, &plan->schedule);
	if (!err)
		err = dag_schedule_make(p, &s.other);
	if (!err && p->contention)
		err = dag_schedule_make(p, &s.trial);
	if (!err && p->contention)
		err = dag_schedule_make(p, &s.settled);
	if (!err)
		err = dag_bound_make(p, &s.bound);
	if (!err && p->contention)
		err = dag_lanes_make(p, &s.lanes);
	if (err)
		goto out;
	err = -ENOMEM;
	s.settled.makespan = DBL_MAX;
	s.priority = malloc(p->tasks * sizeof(*s.priority));
	s.order = malloc(p->tasks * sizeof(*s.order));
	if (!s.priority || !s.order)
		goto out;
	dag_schedule_alone(p, &plan->schedule);
	err = is_done(&s) ? 0 : try_lists(&s);
	if (!err && (options->method == DAG_BEST || options->method == DAG_EXACT)) {
		err = is_done(&s) ? 0 : search(&s);
		if (!err)
			err = branch(&s);
	}
	if (!err)
		err = finish(&s);
	plan->lower_bound = plan->optimal ? plan->schedule.makespan : s.bound.length;
	plan->optimal |= plan->schedule.makespan <= s.bound.length;
out:
	dag_bound_end(&s.bound);
	dag_schedule_end(&s.other);
	dag_schedule_end(&s.trial);
	dag_schedule_end(&s.settled);
	dag_lanes_free(s.lanes);
	free(s.priority);
	free(s.ahead);
	free(s.order);
	return err;
}

void dag_plan_end(struct dag_plan *plan)
{
	dag_schedule_end(&plan->schedule);
	dag_messages_end(&plan->messages);
}
