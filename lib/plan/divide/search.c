// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * With results: branch and bound over the first processor behind P_1 that has work, over the last
 * one and, if a result has a constant part, over which processors have work. These decide which
 * start-ups (and constant parts) count. A box is a range of firsts, a range of lasts, and what is
 * settled for each processor. Its relaxation counts only what all plans in it pay, and is a ring of
 * ring.h.
 */
#include "ring.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CLOSE 3e-9 /* boxes that cannot be better by more than this are left out */
#define LP_MOST 1200 /* processors; above, GLPK takes too long */
#define EFFORT 10000000 /* in processors of the systems solved; a few seconds */
#define STEPS_LEAST 300
#define SUPPORTS_MOST 14 /* processors; above, not all sets are tried for powers */
#define ORDERS_MOST 16 /* processors; above, data go first on all links */
#define STEPS_POWER 60 /* of one plan whose results are not linear */

enum { FREE, USED, IDLE }; /* FREE is 0 */

struct box {
	uint32_t f1, f2, m1, m2;
	double bound;
	uint8_t *status; /* NULL: all are free */
};

struct search {
	const struct divide_problem *problem;
	struct plan_watch *watch;
	struct divide_ring ring;
	struct divide_room room;
	struct divide_answer answer;
	double *s; /* start-ups */
	double k, e, b; /* of results, work being 1 */
	double *best, *at, *trial; /* shares: of the best plan; where a power is made linear */
	bool *best_order; /* its links on which results go first */
	double finish;
	uint64_t steps, effort;
	struct box *heap; /* the least bound first */
	size_t count, room_of_heap;
	double open; /* bound of boxes that cannot be split further */
};

static double power(const struct search *s, double w)
{
	return w > 0 ? s->k * pow(w, s->e) : 0;
}

/* Its exact results at these shares. */
static void set_exact(struct search *s, const double *w)
{
	for (uint32_t i = 0; i < s->ring.n; i++) {
		if (s->problem->result == DIVIDE_LINEAR) {
			s->ring.m[i] = s->problem->m;
			s->ring.b[i] = s->b;
		} else {
			s->ring.m[i] = w[i] > 0 ? power(s, w[i]) / w[i] : 0;
			s->ring.b[i] = 0;
		}
	}
}

static double exact_finish(struct search *s, const double *w)
{
	memcpy(s->ring.sd, s->s, s->ring.n * sizeof(double));
	memcpy(s->ring.sr, s->s, s->ring.n * sizeof(double));
	set_exact(s, w);
	return divide_finish(&s->ring, w);
}

static void offer(struct search *s, const double *w)
{
	double finish, all = 0;

	/* with values far apart the result may not be shares at all */
	for (uint32_t i = 0; i < s->ring.n; i++)
		all += w[i] >= 0 ? w[i] : INFINITY;
	if (!(fabs(all - 1) < 5e-10))
		return;
	finish = exact_finish(s, w);
	if (finish < s->finish) {
		s->finish = finish;
		memcpy(s->best, w, s->ring.n * sizeof(double));
		memcpy(s->best_order, s->ring.results_first, s->ring.n * sizeof(bool));
	}
}

/* The lines below the results of processor i, from 0 to the most it can have. */
static void set_below(struct search *s, uint32_t i, unsigned int status)
{
	struct divide_ring *r = &s->ring;
	double most = fmin(1, s->finish / r->a[i]);

	r->b[i] = 0;
	if (s->problem->result == DIVIDE_LINEAR) {
		r->m[i] = s->problem->m + (status == USED ? 0 : s->b / most);
		r->b[i] = status == USED ? s->b : 0;
	} else if (s->e <= 1) {
		r->m[i] = power(s, most) / most;
	} else {
		r->m[i] = s->at[i] > 0 ? s->e * power(s, s->at[i]) / s->at[i] : 0;
		r->b[i] = (1 - s->e) * power(s, s->at[i]);
	}
}

static void relax(struct search *s, const struct box *box)
{
	struct divide_ring *r = &s->ring;
	bool one = box->f1 == box->f2 && box->m1 == box->m2;

	for (uint32_t i = 0; i < r->n; i++) {
		unsigned int status = box->status ? box->status[i] : FREE;

		if (one && (i == box->f1 || i == box->m1))
			status = USED;
		r->allowed[i] = !i || (i >= box->f1 && i <= box->m2 && status != IDLE);
		r->sd[i] = i < box->m1 ? s->s[i] : 0;
		r->sr[i] = i && i >= box->f2 ? s->s[i] : 0;
		set_below(s, i, status);
	}
}

static int time_left(const struct plan_watch *watch)
{
	double left;

	if (!watch || !watch->now || watch->until <= 0)
		return INT_MAX;
	left = 1000 * (watch->until - watch->now(watch->ctx));
	return left < 1 ? 1 : left < INT_MAX - 1 ? (int)left + 1 : INT_MAX;
}

/* 0 or -ENOMEM; the answer may be neither exact nor a bound. */
static int solve(struct search *s, uint32_t processors)
{
	struct divide_answer direct;
	int err;

	s->steps++;
	divide_direct(&s->ring, &s->room, &s->answer);
	s->effort += (uint64_t)s->answer.rounds * s->ring.n;
	direct = s->answer;
	if (direct.exact || processors > LP_MOST)
		return 0;
	/* takes as long as this many processors in systems of equations */
	s->effort += (uint64_t)processors * processors / 150 + 50 * processors;
	err = divide_lp(&s->ring, &s->room, time_left(s->watch), &s->answer);
	if (err == -EDOM) {
		plan_watch_over(s->watch); /* that may be the reason */
		s->answer.bound = direct.bound;
		s->answer.exact = false;
		return 0;
	}
	return err;
}

/* Processors between the first and the last with work may have work. */
static void set_range(struct search *s, const double *w, uint32_t first, uint32_t last)
{
	struct divide_ring *r = &s->ring;
	bool linear = s->problem->result == DIVIDE_LINEAR;

	for (uint32_t i = 0; i < r->n; i++) {
		/* not where the first bit of work has results: that they have some is settled */
		bool all = linear ? !(s->b > 0) : s->e > 1;

		bool relay = i && r->results_first[i] && r->results_first[i - 1];

		r->allowed[i] = !i || w[i] > 0 || (all && !relay && i >= first && i <= last);
		r->sd[i] = i < last ? s->s[i] : 0;
		r->sr[i] = i >= first ? s->s[i] : 0;
		r->m[i] = s->problem->m;
		r->b[i] = s->b;
		if (!linear) { /* the tangent */
			r->m[i] = w[i] > 0 ? s->e * power(s, w[i]) / w[i] : 0;
			r->b[i] = (1 - s->e) * power(s, w[i]);
		}
	}
}

static double part_way(struct search *s, double part)
{
	for (uint32_t i = 0; i < s->ring.n; i++)
		s->trial[i] = s->at[i] + part * (s->answer.w[i] - s->at[i]);
	return exact_finish(s, s->trial);
}

/* Moves from s->at towards the answer as long as that is better, by golden sections. Newton's
 * method goes all the way, which is right if the equations alone decide. */
static double go(struct search *s)
{
	const double ratio = 0.6180339887498949;
	double low = 0, high = 1, p = 1 - ratio, q = ratio, at_p, at_q, whole = part_way(s, 1);

	at_p = part_way(s, p);
	at_q = part_way(s, q);
	for (unsigned int i = 0; i < 40 && fmin(at_p, at_q) < whole; i++) {
		if (at_p < at_q) {
			high = q;
			q = p;
			at_q = at_p;
			p = high - ratio * (high - low);
			at_p = part_way(s, p);
		} else {
			low = p;
			p = q;
			at_p = at_q;
			q = low + ratio * (high - low);
			at_q = part_way(s, q);
		}
	}
	if (fmin(at_p, at_q) >= whole)
		return part_way(s, 1);
	return part_way(s, at_p < at_q ? p : q);
}

/* The best shares for the processors that have work in `answer`, with their exact results: in one
 * step if results are linear, else in several linear steps. */
static int polish(struct search *s)
{
	uint32_t n = s->ring.n, first = 0, last = 0;
	bool linear = s->problem->result == DIVIDE_LINEAR;
	double *w = s->answer.w, finish;
	int err;

	for (uint32_t i = n; i-- > 1;) {
		if (!(w[i] > 0))
			continue;
		first = i;
		last = last ? last : i;
	}
	if (!first)
		return 0;
	memcpy(s->at, w, n * sizeof(double));
	finish = exact_finish(s, w);
	for (unsigned int round = 0; round < (linear ? 1 : STEPS_POWER); round++) {
		double better;

		set_range(s, s->at, first, last);
		err = solve(s, last - first + 1);
		if (err)
			return err;
		if (linear) {
			offer(s, w);
			break;
		}
		s->effort += 40 * (uint64_t)n / 10;
		better = go(s);
		if (!(better < finish))
			break;
		memcpy(s->at, s->trial, n * sizeof(double));
		if (better >= finish * (1 - 1e-15))
			break;
		finish = better;
	}
	if (!linear)
		offer(s, s->at);
	return 0;
}

/* ---- boxes ---- */

static int push(struct search *s, struct box box)
{
	size_t at = s->count;

	if (s->count == s->room_of_heap) {
		size_t room = s->room_of_heap ? 2 * s->room_of_heap : 64;
		struct box *heap = realloc(s->heap, room * sizeof(*heap));

		if (!heap)
			return -ENOMEM;
		s->heap = heap;
		s->room_of_heap = room;
	}
	s->count++;
	for (; at && s->heap[(at - 1) / 2].bound > box.bound; at = (at - 1) / 2)
		s->heap[at] = s->heap[(at - 1) / 2];
	s->heap[at] = box;
	return 0;
}

static struct box pop(struct search *s)
{
	struct box first = s->heap[0], last = s->heap[--s->count];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < s->count) {
		if (child + 1 < s->count && s->heap[child + 1].bound < s->heap[child].bound)
			child++;
		if (s->heap[child].bound >= last.bound)
			break;
		s->heap[at] = s->heap[child];
		at = child;
	}
	if (s->count)
		s->heap[at] = last;
	return first;
}

static double sum(const double *of, uint32_t from, uint32_t to)
{
	double all = 0;

	for (uint32_t i = from; i < to; i++)
		all += of[i];
	return all;
}

/* Copies a box, with processor i in this status; i = 0: with none changed. */
static int push_copy(struct search *s, struct box box, uint32_t i, unsigned int status)
{
	const uint8_t *settled = box.status;
	int err;

	if (settled || i) {
		box.status = calloc(s->ring.n, 1);
		if (!box.status)
			return -ENOMEM;
		if (settled)
			memcpy(box.status, settled, s->ring.n);
	}
	if (i)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): there is a processor */
		box.status[i] = status;
	err = push(s, box);
	if (err)
		free(box.status);
	return err;
}

/* No start-up counts for only a part of the box. */
static bool alike(const struct search *s, const struct box *box)
{
	return sum(s->s, box->f1, box->f2) == 0 && sum(s->s, box->m1, box->m2) == 0;
}

/* The processor whose results are farthest above the line below them, at shares w of the box's
 * relaxation; 0: none, or it is settled whether it has work. */
static uint32_t unsettled(const struct search *s, const struct box *box, const double *w)
{
	bool one = box->f1 == box->f2 && box->m1 == box->m2;
	bool linear = s->problem->result == DIVIDE_LINEAR;
	double most = 1e-12;
	uint32_t found = 0;

	if (!alike(s, box) || (linear ? !(s->b > 0) : s->e > 1 || s->ring.n > SUPPORTS_MOST))
		return 0;
	for (uint32_t i = box->f1; i <= box->m2; i++) {
		double result = linear ? s->problem->m * w[i] + s->b : power(s, w[i]);
		double bound = fmin(1, s->finish / s->ring.a[i]), rest;

		if ((one && (i == box->f1 || i == box->m1)) || !(w[i] > 0) ||
		    (box->status && box->status[i] != FREE))
			continue;
		rest = linear ? result - (s->problem->m + s->b / bound) * w[i]
			      : result - power(s, bound) / bound * w[i];
		if (rest < most)
			continue;
		most = rest;
		found = i;
	}
	return found;
}

static int split(struct search *s, const struct box *box, uint32_t settle)
{
	struct box low = *box, high = *box;
	double firsts = sum(s->s, box->f1, box->f2), lasts = sum(s->s, box->m1, box->m2);
	int err;

	if (alike(s, box)) {
		if (!settle) {
			s->open = fmin(s->open, box->bound);
			return 0;
		}
		err = push_copy(s, *box, settle, USED);
		return err ? err : push_copy(s, *box, settle, IDLE);
	}
	if (box->m1 < box->m2 && (box->f1 == box->f2 || lasts > firsts ||
				  (lasts == firsts && box->m2 - box->m1 >= box->f2 - box->f1))) {
		low.m2 = box->m1 + (box->m2 - box->m1) / 2;
		high.m1 = low.m2 + 1;
	} else {
		low.f2 = box->f1 + (box->f2 - box->f1) / 2;
		high.f1 = low.f2 + 1;
	}
	/* no first one is behind the last */
	low.f2 = low.f2 < low.m2 ? low.f2 : low.m2;
	high.m1 = high.m1 > high.f1 ? high.m1 : high.f1;
	err = push_copy(s, low, 0, FREE);
	return err ? err : push_copy(s, high, 0, FREE);
}

/* A better bound of the box; *settle: the processor to settle next. */
static int look_at(struct search *s, struct box *box, uint32_t *settle)
{
	unsigned int rounds = s->problem->result == DIVIDE_POWER && s->e > 1 ? 12 : 1;
	int err;

	*settle = 0;
	memcpy(s->at, s->best, s->ring.n * sizeof(double));
	for (unsigned int round = 0; round < rounds; round++) {
		double before = box->bound;

		relax(s, box);
		err = solve(s, box->m2 - box->f1 + 1);
		if (err)
			return err;
		box->bound = fmax(box->bound, s->answer.bound);
		memcpy(s->at, s->answer.w, s->ring.n * sizeof(double));
		if (round && box->bound <= before * (1 + CLOSE))
			break;
	}
	*settle = unsettled(s, box, s->answer.w);
	offer(s, s->answer.w);
	return polish(s);
}

static bool tired(const struct search *s)
{
	return s->effort > EFFORT && (s->steps > STEPS_LEAST || s->effort > 3 * EFFORT);
}

static int run(struct search *s, struct box root)
{
	int err = push(s, root);

	if (err)
		free(root.status);
	while (!err && s->count && !tired(s) && !plan_watch_over(s->watch)) {
		struct box box = pop(s);
		uint32_t settle;

		plan_watch_progress(s->watch, "searching", s->effort, EFFORT + s->effort / 10);
		if (box.bound < s->finish * (1 - CLOSE)) {
			err = look_at(s, &box, &settle);
			if (!err && box.bound < s->finish * (1 - CLOSE))
				err = split(s, &box, settle);
		}
		free(box.status);
	}
	if (s->count)
		s->open = fmin(s->open, s->heap[0].bound);
	while (s->count)
		free(s->heap[--s->count].status);
	return err;
}

/* Tries results before data, on all links from one processor with work to the next one behind
 * relays. This rarely helps: only if links are so expensive that data would delay results for
 * longer than the reverse. A processor that sends before it computes has no results by then. */
static int run_orders(struct search *s)
{
	uint32_t n = s->ring.n;
	int err = 0;

	if (s->ring.serial || n > ORDERS_MOST)
		return 0;
	for (uint32_t u = 1; u + 2 < n; u++)
		for (uint32_t v = u + 2; !err && v < n; v++) {
			struct box root = { 1, u, v, n - 1, 0, calloc(n, 1) };

			if (!root.status)
				return -ENOMEM;
			for (uint32_t i = u; i < v; i++) {
				s->ring.results_first[i] = true;
				root.status[i] = i == u ? USED : IDLE;
			}
			root.status[v] = USED;
			err = run(s, root);
			memset(s->ring.results_first, 0, n * sizeof(bool));
		}
	return err;
}

static int begin(struct search *s, const struct divide_problem *p)
{
	uint32_t n = p->n;
	double *block = calloc(10 * (size_t)n, sizeof(double));
	double unit = p->a[0] * p->work;

	s->problem = p;
	s->ring = (struct divide_ring){ .n = n, .serial = p->serial, .a = block };
	s->ring.allowed = calloc(2 * (size_t)n, sizeof(bool));
	if (!block || !s->ring.allowed)
		return -ENOMEM;
	s->ring.results_first = s->ring.allowed + n;
	s->ring.c = block + n;
	s->ring.sd = block + 2 * (size_t)n;
	s->ring.sr = block + 3 * (size_t)n;
	s->ring.m = block + 4 * (size_t)n;
	s->ring.b = block + 5 * (size_t)n;
	s->s = block + 6 * (size_t)n;
	s->at = block + 7 * (size_t)n;
	s->answer.w = block + 8 * (size_t)n;
	s->trial = block + 9 * (size_t)n;
	for (uint32_t i = 0; i < n; i++) {
		s->ring.a[i] = p->a[i] / p->a[0];
		s->ring.c[i] = p->c[i] / p->a[0];
		s->s[i] = p->s[i] / unit;
	}
	s->b = p->b / p->work;
	s->e = p->e;
	s->k = p->k * pow(p->work, p->e - 1);
	return divide_room_begin(&s->room, n);
}

static void end(struct search *s)
{
	free(s->heap);
	divide_room_end(&s->room);
	free(s->ring.allowed);
	free(s->ring.a);
}

int divide_search(struct divide_plan *plan, const struct divide_problem *problem,
		  struct plan_watch *watch)
{
	struct search s = { .watch = watch,
			    .finish = INFINITY,
			    .open = INFINITY,
			    .best = plan->shares,
			    .best_order = plan->results_first };
	double bound;
	int err = begin(&s, problem);

	if (!err) {
		s.answer.w[0] = 1;
		offer(&s, s.answer.w);
		if (problem->n > 1)
			err = run(&s,
				  (struct box){ 1, problem->n - 1, 1, problem->n - 1, 0, NULL });
	}
	if (!err)
		err = run_orders(&s);
	plan_watch_progress(watch, "searching", 1, 1);
	if (!err) {
		bound = fmin(s.finish, s.open);
		plan->steps = s.steps;
		plan->optimal = s.finish <= bound * (1 + 1e-6);
		plan->lower_bound = bound * problem->a[0] * problem->work;
		for (uint32_t i = 0; i < problem->n; i++)
			plan->shares[i] *= problem->work;
	}
	end(&s);
	return err;
}
