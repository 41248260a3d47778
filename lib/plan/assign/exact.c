// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Branch and bound. A node has placed some tasks; f_k is the cost of processor k so far, and never
 * falls. A node is cut off, because no plan below it is better than the best one, if
 *
 *  - a task fits nowhere: on every processor some f would be above the bar;
 *  - one processor must be above it: f_k plus, for each task left, the lesser of coming to k and of
 *    communicating with k from elsewhere;
 *  - all together must be: the sum of f_k plus the least that each task left adds to it. What a
 *    task adds beyond its least when it is elsewhere is passed on to its neighbours, as far as the
 *    volume between them would pay for it (a pass of dual ascent over the remaining pairs): where
 *    k_u and k_v are the processors of u and v, and r is what u adds beyond its least,
 *
 *	r(k_u) + 2c[k_u != k_v] >= min(r(k_v), 2c).
 *
 * Processors that can be exchanged are opened in their order.
 */
#include "assign.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TASKS_MAX 2048u
#define CELLS_MAX ((size_t)1 << 22)
#define NOWHERE UINT32_MAX
#define SAME 1e-9

struct search {
	const struct assign_problem *p;
	const struct assign_machine *m;
	uint32_t tasks, processors;
	struct assign_plan *plan; /* the best so far */
	double bar; /* a better plan has no f above it */
	uint64_t nodes, limit;
	struct plan_watch *watch;
	bool ended;
	uint32_t *order; /* of all tasks, large ones first */
	uint32_t *at; /* NOWHERE: not placed */
	uint32_t *held; /* tasks on each processor */
	uint32_t *twin; /* the first processor that may be exchanged with it */
	double *volume; /* [u * processors + k]: to tasks placed on k */
	double *f; /* [depth * processors + k] */
	double *theta; /* [u * processors + k]: what u adds there, and what was passed on to it */
	double *least; /* of each processor, in a node */
	double *share; /* lambda: weight of each f in the sum; compensates for speeds */
	double *remote; /* least factor of communication from k */
	double shares, pair; /* sum of them; least weight of a cut unit of volume in the sum */
	uint32_t *choice; /* [depth * processors]: where, in the order tried */
	double *rank;
};

static double talk(const struct search *s, uint32_t k, uint32_t j)
{
	return s->m ? s->m->talk[(size_t)k * s->processors + j] : 1;
}

/* What u adds to f_k if it goes there; *sum: to the weighted sum of all f. */
static double added(const struct search *s, uint32_t u, uint32_t k, double all, double *sum)
{
	const double *volume = s->volume + (size_t)u * s->processors;
	double own, others = 0;

	if (!s->m) {
		own = s->p->work[u] + all - volume[k];
		*sum = own + all - volume[k];
		return own;
	}
	own = s->m->compute[k] * s->p->work[u];
	for (uint32_t j = 0; j < s->processors; j++) {
		if (j == k || !volume[j])
			continue;
		own += talk(s, k, j) * volume[j];
		others += s->share[j] * talk(s, j, k) * volume[j];
	}
	*sum = s->share[k] * own + others;
	return own;
}

/* Whether no other f passes the bar either. */
static bool others_fit(const struct search *s, const double *f, uint32_t u, uint32_t k)
{
	const double *volume = s->volume + (size_t)u * s->processors;

	for (uint32_t j = 0; j < s->processors; j++)
		if (j != k && volume[j] && f[j] + talk(s, j, k) * volume[j] > s->bar)
			return false;
	return true;
}

/* Computes theta of u, infinite where it does not fit. Returns the number of its places, where
 * empty twins count as one. */
static uint32_t weigh(struct search *s, const double *f, uint32_t u)
{
	double *theta = s->theta + (size_t)u * s->processors, all = 0;
	const double *volume = s->volume + (size_t)u * s->processors;
	uint32_t places = 0;

	for (uint32_t k = 0; k < s->processors; k++)
		all += volume[k];
	for (uint32_t k = 0; k < s->processors; k++) {
		double sum, own = added(s, u, k, all, &sum), away = s->remote[k] * volume[k];
		bool fits = f[k] + own <= s->bar && others_fit(s, f, u, k);

		theta[k] = fits ? theta[k] + sum : INFINITY;
		s->least[k] += fits && own < away ? own : away;
		places += fits && (s->held[k] || s->twin[k] == k || s->held[s->twin[k]]);
	}
	return places;
}

/* Passes on what theta has above its least to tasks that come later; returns the least. */
static double hand_on(struct search *s, uint32_t u, const bool *done)
{
	const struct assign_problem *p = s->p;
	double *theta = s->theta + (size_t)u * s->processors, least = INFINITY, later = 0;

	for (uint32_t k = 0; k < s->processors; k++)
		if (theta[k] < least)
			least = theta[k];
	for (uint32_t e = p->start[u]; e < p->start[u + 1]; e++)
		if (s->at[p->to[e]] == NOWHERE && !done[p->to[e]])
			later += p->volume[e];
	if (later <= 0)
		return least;
	for (uint32_t e = p->start[u]; e < p->start[u + 1]; e++) {
		uint32_t v = p->to[e];
		double *to = s->theta + (size_t)v * s->processors, part, most;

		if (s->at[v] != NOWHERE || done[v] || !p->volume[e])
			continue;
		part = p->volume[e] / later;
		most = s->pair * p->volume[e];
		for (uint32_t k = 0; k < s->processors; k++) {
			double more = part * (theta[k] - least);

			to[k] += more < most ? more : most;
		}
	}
	return least;
}

/* The task with the fewest places is next; NOWHERE if the node is cut off. */
static uint32_t bound(struct search *s, const double *f, bool *done)
{
	double sum = 0, slack = s->bar * s->shares * SAME;
	uint32_t next = NOWHERE, fewest = UINT32_MAX;

	for (uint32_t k = 0; k < s->processors; k++) {
		sum += s->share[k] * f[k];
		s->least[k] = f[k];
	}
	for (uint32_t i = 0; i < s->tasks; i++) {
		uint32_t u = s->order[i];

		done[u] = false;
		if (s->at[u] == NOWHERE)
			memset(s->theta + (size_t)u * s->processors, 0,
			       s->processors * sizeof(*s->theta));
	}
	for (uint32_t i = 0; i < s->tasks; i++) {
		uint32_t u = s->order[i], places;

		if (s->at[u] != NOWHERE)
			continue;
		places = weigh(s, f, u);
		if (!places)
			return NOWHERE;
		if (places < fewest) {
			fewest = places;
			next = u;
		}
		done[u] = true;
		sum += hand_on(s, u, done);
		if (sum > s->bar * s->shares + slack)
			return NOWHERE;
	}
	for (uint32_t k = 0; k < s->processors; k++)
		if (s->least[k] > s->bar * (1 + SAME))
			return NOWHERE;
	return next;
}

static void place(struct search *s, uint32_t u, uint32_t k, double *f)
{
	const struct assign_problem *p = s->p;
	const double *volume = s->volume + (size_t)u * s->processors;
	double all = 0, sum, own;

	for (uint32_t j = 0; j < s->processors; j++)
		all += volume[j];
	own = added(s, u, k, all, &sum);
	for (uint32_t j = 0; j < s->processors; j++)
		f[j] += j == k ? own : volume[j] ? talk(s, j, k) * volume[j] : 0;
	s->at[u] = k;
	s->held[k]++;
	for (uint32_t e = p->start[u]; e < p->start[u + 1]; e++)
		s->volume[(size_t)p->to[e] * s->processors + k] += p->volume[e];
}

/* Volumes are whole numbers, so nothing is left by rounding. */
static void take_back(struct search *s, uint32_t u, uint32_t k)
{
	const struct assign_problem *p = s->p;

	for (uint32_t e = p->start[u]; e < p->start[u + 1]; e++)
		s->volume[(size_t)p->to[e] * s->processors + k] -= p->volume[e];
	s->held[k]--;
	s->at[u] = NOWHERE;
}

static void set_bar(struct search *s)
{
	s->bar = s->m ? s->plan->total * (1 - SAME) : s->plan->total - 1;
}

static bool over(struct search *s)
{
	if ((s->limit && s->nodes >= s->limit) || (!(s->nodes & 255) && plan_watch_over(s->watch)))
		s->ended = true;
	return s->ended;
}

/* The processors that u may go to, least theta first. */
static uint32_t choices(struct search *s, uint32_t u, uint32_t depth, const double *f)
{
	uint32_t *choice = s->choice + (size_t)depth * s->processors, count = 0;
	const double *theta = s->theta + (size_t)u * s->processors;

	for (uint32_t k = 0; k < s->processors; k++) {
		uint32_t i = count;

		if (isinf(theta[k]))
			continue;
		if (!s->held[k]) { /* of empty twins the first one */
			uint32_t j = s->twin[k];

			while (j < k && (s->twin[j] != s->twin[k] || s->held[j]))
				j++;
			if (j < k)
				continue;
		}
		s->rank[k] = theta[k] + s->share[k] * f[k] / s->processors;
		for (; i && s->rank[choice[i - 1]] > s->rank[k]; i--)
			choice[i] = choice[i - 1];
		choice[i] = k;
		count++;
	}
	return count;
}

/* `from` and `width`: the part of the tree that is below, of 1. */
static void visit(struct search *s, uint32_t depth, bool *done, double from, double width)
{
	double *f = s->f + (size_t)depth * s->processors, *below = f + s->processors;
	const uint32_t *choice = s->choice + (size_t)depth * s->processors;
	uint32_t u, count;

	if (over(s))
		return;
	if (!(s->nodes++ & 4095))
		plan_watch_progress(s->watch, "branch and bound", (uint64_t)(from * 1e6), 1000000);
	if (depth == s->tasks) {
		memcpy(s->plan->at, s->at, s->tasks * sizeof(*s->at));
		assign_evaluate(s->p, s->plan);
		set_bar(s);
		return;
	}
	u = bound(s, f, done);
	if (u == NOWHERE)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): assign_exact() has f still */
		return;
	count = choices(s, u, depth, f);
	for (uint32_t i = 0; i < count && !s->ended; i++) {
		bool fits = true;

		memcpy(below, f, s->processors * sizeof(*f));
		place(s, u, choice[i], below);
		/* the bar may be lower by now */
		for (uint32_t k = 0; k < s->processors && fits; k++)
			fits = below[k] <= s->bar;
		if (fits)
			visit(s, depth + 1, done, from + width * i / count, width / count);
		take_back(s, u, choice[i]);
	}
}

/* Whether exchanging j and k changes no factor. */
static bool are_twins(const struct search *s, uint32_t j, uint32_t k)
{
	if (!s->m)
		return true;
	if (s->m->compute[j] != s->m->compute[k] || talk(s, j, k) != talk(s, k, j))
		return false;
	for (uint32_t i = 0; i < s->processors; i++)
		if (i != j && i != k &&
		    (talk(s, i, j) != talk(s, i, k) || talk(s, j, i) != talk(s, k, i)))
			return false;
	return true;
}

static void look_at_machine(struct search *s)
{
	uint32_t all = s->processors;

	s->pair = INFINITY;
	for (uint32_t k = 0; k < all; k++) {
		s->twin[k] = 0;
		while (s->twin[k] < k && !are_twins(s, s->twin[k], k))
			s->twin[k]++;
		s->share[k] = s->m ? 1 / s->m->compute[k] : 1;
		s->shares += s->share[k];
		s->remote[k] = all > 1 ? INFINITY : 0;
		for (uint32_t j = 0; j < all; j++)
			if (j != k && talk(s, k, j) < s->remote[k])
				s->remote[k] = talk(s, k, j);
	}
	for (uint32_t k = 0; k < all; k++) {
		for (uint32_t j = 0; j < k; j++) {
			double both = s->share[k] * talk(s, k, j) + s->share[j] * talk(s, j, k);

			if (both < s->pair)
				s->pair = both;
		}
	}
}

static int by_weight(const void *x, const void *y, void *weights)
{
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	const double *weight = weights;

	if (weight[a] != weight[b])
		return weight[a] > weight[b] ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int prepare(struct search *s)
{
	uint32_t n = s->tasks, all = s->processors;
	double *weight = calloc(n, sizeof(*weight));

	s->order = calloc(n, sizeof(*s->order));
	s->at = calloc(n, sizeof(*s->at));
	s->held = calloc(all, sizeof(*s->held));
	s->twin = calloc(all, sizeof(*s->twin));
	s->volume = calloc((size_t)n * all, sizeof(*s->volume));
	s->f = calloc(((size_t)n + 1) * all, sizeof(*s->f));
	s->theta = calloc((size_t)n * all, sizeof(*s->theta));
	s->least = calloc(all, sizeof(*s->least));
	s->share = calloc(all, sizeof(*s->share));
	s->remote = calloc(all, sizeof(*s->remote));
	s->choice = calloc((size_t)n * all, sizeof(*s->choice));
	s->rank = calloc(all, sizeof(*s->rank));
	if (!weight || !s->order || !s->at || !s->held || !s->twin || !s->volume || !s->f ||
	    !s->theta || !s->least || !s->share || !s->remote || !s->choice || !s->rank) {
		free(weight);
		return -ENOMEM;
	}
	for (uint32_t u = 0; u < n; u++) {
		s->order[u] = u;
		s->at[u] = NOWHERE;
		weight[u] = s->p->work[u];
		for (uint32_t e = s->p->start[u]; e < s->p->start[u + 1]; e++)
			weight[u] += s->p->volume[e];
	}
	qsort_r(s->order, n, sizeof(*s->order), by_weight, weight);
	free(weight);
	look_at_machine(s);
	set_bar(s);
	return 0;
}

int assign_exact(const struct assign_problem *problem, uint64_t nodes, struct plan_watch *watch,
		 struct assign_plan *plan)
{
	struct search s = {
		.p = problem,
		.m = problem->machine,
		.tasks = problem->tasks,
		.processors = problem->processors,
		.plan = plan,
		.limit = nodes,
		.watch = watch,
	};
	bool *done;
	int err;

	/* of equal processors no plan needs more than there are tasks */
	if (!s.m && s.processors > s.tasks)
		s.processors = s.tasks;
	if (s.tasks > TASKS_MAX || (size_t)s.tasks * s.processors > CELLS_MAX)
		return 0;
	done = calloc(s.tasks, sizeof(*done));
	err = done ? prepare(&s) : -ENOMEM;
	if (!err)
		visit(&s, 0, done, 0, 1);
	plan_watch_progress(watch, "branch and bound", 1, 1);
	if (!err && !s.ended) {
		plan->lower_bound = plan->total;
		plan->optimal = true;
		err = 1;
	}
	free(done);
	free(s.order);
	free(s.at);
	free(s.held);
	free(s.twin);
	free(s.volume);
	free(s.f);
	free(s.theta);
	free(s.least);
	free(s.share);
	free(s.remote);
	free(s.choice);
	free(s.rank);
	return err;
}
