// SPDX-License-Identifier: GPL-2.0-or-later
/* Plans: their exact finish times, and the best shares near those of a relaxation. */
#include "search.h"

#include <limits.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#define LP_MOST 1200 /* processors; above, GLPK takes too long */
#define INNER_LEAST 200 /* below, GLPK takes less time than the interior point method */
#define SLACK 1e-11
#define STEPS_POWER 60 /* of one plan whose results are not linear */

double search_result(const struct search *s, double w)
{
	if (s->growth == GROWTH_LINEAR)
		return s->m * w + s->b;
	return w > 0 ? s->k * pow(w, s->e) : 0;
}

/* Its exact results at these shares. */
static void set_exact(struct search *s, const double *w)
{
	for (uint32_t i = 0; i < s->ring.n; i++) {
		if (s->growth == GROWTH_LINEAR) {
			s->ring.m[i] = s->m;
			s->ring.b[i] = s->b;
		} else {
			s->ring.m[i] = w[i] > 0 ? search_result(s, w[i]) / w[i] : 0;
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

void search_offer(struct search *s, const double *w)
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

static int time_left(const struct plan_watch *watch)
{
	double left;

	if (!watch || !watch->now || watch->until <= 0)
		return INT_MAX;
	left = 1000 * (watch->until - watch->now());
	return left < 1 ? 1 : left < INT_MAX - 1 ? (int)left + 1 : INT_MAX;
}

/* Whether shares keep what divide_direct() does not count. */
static bool fits(const struct divide_ring *r, const double *w)
{
	for (uint32_t i = 0; r->low && i < r->n; i++)
		if (w[i] < r->low[i] - SLACK || w[i] > r->high[i] + SLACK)
			return false;
	for (size_t k = 0; k < r->nlines; k++) {
		uint32_t i = r->lines[k].of;
		double least = fmax(r->lines[k].m * w[i] + r->lines[k].b, 0);

		if (w[i] > 0 && least > r->m[i] * w[i] + r->b[i] + SLACK)
			return false;
	}
	return true;
}

int search_solve(struct search *s, uint32_t processors)
{
	struct divide_answer direct;
	int err;

	s->steps++;
	divide_direct(&s->ring, &s->room, &s->answer);
	s->effort += (uint64_t)s->answer.rounds * s->ring.n;
	direct = s->answer;
	direct.exact = direct.exact && fits(&s->ring, s->answer.w);
	if (direct.exact)
		return 0;
	if (processors > LP_MOST ||
	    (processors >= INNER_LEAST && !s->ring.low && !s->ring.nlines)) {
		err = divide_inner(&s->ring, s->watch, &s->answer);
		if (!err)
			s->effort += 5 * (uint64_t)s->answer.rounds * processors;
		if (err != -EDOM && (err || s->answer.exact || processors > LP_MOST))
			return err;
		direct.bound = s->answer.bound;
	}
	if (processors > LP_MOST)
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
	bool linear = s->growth == GROWTH_LINEAR;

	r->low = r->high = NULL;
	r->nlines = 0;
	for (uint32_t i = 0; i < r->n; i++) {
		/* not where the first bit of work has results: that they have some is settled */
		bool all = linear ? !(s->b > 0) : s->e > 1;
		bool relay = i && r->results_first[i] && r->results_first[i - 1];

		r->allowed[i] = !i || w[i] > 0 || (all && !relay && i >= first && i <= last);
		r->sd[i] = i < last ? s->s[i] : 0;
		r->sr[i] = i >= first ? s->s[i] : 0;
		r->m[i] = s->m;
		r->b[i] = s->b;
		if (!linear) { /* the tangent */
			r->m[i] = w[i] > 0 ? s->e * search_result(s, w[i]) / w[i] : 0;
			r->b[i] = (1 - s->e) * search_result(s, w[i]);
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

int search_polish(struct search *s)
{
	uint32_t n = s->ring.n, first = 0, last = 0;
	bool linear = s->growth == GROWTH_LINEAR;
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
		err = search_solve(s, last - first + 1);
		if (err)
			return err;
		if (linear) {
			search_offer(s, w);
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
		search_offer(s, s->at);
	return 0;
}
