// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * With results: branch and bound over the first processor behind P_1 that has work, over the last
 * one and, if results do not grow in proportion, over which processors have work and how much.
 * Firsts and lasts decide which start-ups count. polish.c makes plans, relax.c bounds.
 */
#include "search.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EFFORT 10000000 /* in processors of the systems solved; a few seconds */
#define STEPS_LEAST 300
#define EDGE 0.1 /* of what a share may be, that a part of it has at least */
#define LINES 16 /* tangents kept for each processor */
#define ORDERS_MOST 16 /* processors; above, data go first on all links */

/* Settles processor i: whether it has work, or on which side of w its share is. */
static int split_processor(struct search *s, const struct box *box, uint32_t i, double w)
{
	struct box_limit low = { BOX_FREE, 0, 1 }, high;
	int err;

	if (box->limits)
		low = box->limits[i];
	high = low;
	if (s->growth == GROWTH_LINEAR) {
		low.status = BOX_IDLE;
		high.status = BOX_USED;
	} else {
		double most = fmin(low.high, s->finish / s->ring.a[i]), edge;

		/* not too near to an end, or one side would be the whole box again */
		edge = (most - low.low) * EDGE;
		low.high = high.low = fmin(fmax(w, low.low + edge), most - edge);
	}
	err = box_push_copy(&s->heap, *box, s->ring.n, i, high);
	return err ? err : box_push_copy(&s->heap, *box, s->ring.n, i, low);
}

static int split(struct search *s, const struct box *box, uint32_t settle, double w)
{
	static const struct box_limit none;
	struct box low = *box, high = *box;
	double firsts = divide_sum(s->s, box->f1, box->f2),
	       lasts = divide_sum(s->s, box->m1, box->m2);
	int err;

	if (search_alike(s, box)) {
		if (settle)
			return split_processor(s, box, settle, w);
		s->open = fmin(s->open, box->bound);
		return 0;
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
	err = box_push_copy(&s->heap, low, s->ring.n, 0, none);
	return err ? err : box_push_copy(&s->heap, high, s->ring.n, 0, none);
}

static bool tired(const struct search *s)
{
	return s->effort > EFFORT && (s->steps > STEPS_LEAST || s->effort > 3 * EFFORT);
}

static int run(struct search *s, struct box root)
{
	int err = box_push(&s->heap, root);

	if (err)
		free(root.limits);
	while (!err && s->heap.count && !tired(s) && !plan_watch_over(s->watch)) {
		struct box box = box_pop(&s->heap);
		uint32_t settle;
		double w;

		plan_watch_progress(s->watch, "searching", s->effort, EFFORT + s->effort / 10);
		if (!search_closed(s, &box)) {
			err = search_look_at(s, &box, &settle, &w);
			if (!err && !search_closed(s, &box))
				err = split(s, &box, settle, w);
		}
		free(box.limits);
	}
	if (s->heap.count)
		s->open = fmin(s->open, s->heap.box[0].bound);
	box_heap_end(&s->heap);
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
			struct box root = { 1, u, v, n - 1, 0, malloc(n * sizeof(*root.limits)) };

			if (!root.limits)
				return -ENOMEM;
			for (uint32_t i = 0; i < n; i++)
				root.limits[i] = (struct box_limit){ BOX_FREE, 0, 1 };
			for (uint32_t i = u; i < v; i++) {
				s->ring.results_first[i] = true;
				root.limits[i].status = i == u ? BOX_USED : BOX_IDLE;
			}
			root.limits[v].status = BOX_USED;
			err = run(s, root);
			memset(s->ring.results_first, 0, n * sizeof(bool));
		}
	return err;
}

static void set_growth(struct search *s, const struct divide_problem *p)
{
	s->m = p->m;
	s->b = p->b / p->work;
	s->e = p->e;
	s->k = p->k * pow(p->work, p->e - 1);
	if (p->result == DIVIDE_LINEAR)
		return;
	if (p->e == 0 || p->e == 1) {
		s->m = p->e == 1 ? s->k : 0;
		s->b = p->e == 0 ? s->k : 0;
		return;
	}
	s->growth = p->e < 1 ? GROWTH_CONCAVE : GROWTH_CONVEX;
}

static int begin(struct search *s, const struct divide_problem *p)
{
	uint32_t n = p->n;
	double *block = calloc(12 * (size_t)n, sizeof(double));
	double unit = p->a[0] * p->work;

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
	s->low = block + 10 * (size_t)n;
	s->high = block + 11 * (size_t)n;
	for (uint32_t i = 0; i < n; i++) {
		s->ring.a[i] = p->a[i] / p->a[0];
		s->ring.c[i] = p->c[i] / p->a[0];
		s->s[i] = p->s[i] / unit;
	}
	set_growth(s, p);
	if (s->growth == GROWTH_CONVEX) {
		s->most_lines = LINES * (size_t)n;
		s->lines = malloc(s->most_lines * sizeof(*s->lines));
		if (!s->lines)
			return -ENOMEM;
	}
	return divide_room_begin(&s->room, n);
}

static void end(struct search *s)
{
	box_heap_end(&s->heap);
	free(s->lines);
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
		search_offer(&s, s.answer.w);
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
