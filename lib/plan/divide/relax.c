// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What bounds the plans of a box from below. Its relaxation counts only what all plans in it pay,
 * and has lines below the results, so that it is a ring of ring.h: the line through both ends of
 * what a share may be (linear with b > 0, and concave), or tangents (convex). A chord touches at
 * its ends, so splitting a share where the relaxation has it closes the gap there (spatial branch
 * and bound). Tangents are below everywhere, so they are kept, and added until they touch (Kelley's
 * cutting planes).
 */
#include "search.h"

#include <math.h>
#include <string.h>

#define SUPPORTS_MOST 14 /* processors; above, concave results are not split */
#define CUTS_MOST 64 /* processors; above, a convex result has one tangent */
#define TANGENTS 12 /* rounds with one tangent, which are cheap */
#define CUT_ROUNDS 60

bool search_alike(const struct search *s, const struct box *box)
{
	return divide_sum(s->s, box->f1, box->f2) == 0 && divide_sum(s->s, box->m1, box->m2) == 0;
}

bool search_closed(const struct search *s, const struct box *box)
{
	double close = s->growth == GROWTH_CONCAVE ? SEARCH_CLOSE_CONCAVE : SEARCH_CLOSE;

	return !(box->bound < s->finish * (1 - close));
}

/* The line that is below the results of processor i, for its share in [low, high]. */
static void set_below(struct search *s, uint32_t i, bool used, double low, double high)
{
	struct divide_ring *r = &s->ring;

	r->b[i] = 0;
	switch (s->growth) {
	case GROWTH_LINEAR:
		r->m[i] = s->m + (used ? 0 : s->b / high);
		r->b[i] = used ? s->b : 0;
		break;
	case GROWTH_CONCAVE:
		r->m[i] = 0;
		if (high > low)
			r->m[i] = (search_result(s, high) - search_result(s, low)) / (high - low);
		r->b[i] = fmax(search_result(s, low) - r->m[i] * low, 0);
		break;
	case GROWTH_CONVEX:
		r->m[i] = s->at[i] > 0 ? s->e * search_result(s, s->at[i]) / s->at[i] : 0;
		r->b[i] = (1 - s->e) * search_result(s, s->at[i]);
		break;
	}
}

/* False: the box holds no plan that is better than the best one. */
static bool relax(struct search *s, const struct box *box)
{
	struct divide_ring *r = &s->ring;
	bool one = box->f1 == box->f2 && box->m1 == box->m2;
	double least = 0, room = 0;

	r->low = r->high = NULL;
	r->nlines = 0;
	for (uint32_t i = 0; i < r->n; i++) {
		struct box_limit limit = { BOX_FREE, 0, 1 };
		double most = fmin(1, s->finish / r->a[i]); /* more takes too long to compute */

		if (box->limits)
			limit = box->limits[i];
		if (one && (i == box->f1 || i == box->m1))
			limit.status = BOX_USED;
		if (limit.low > 0 || limit.high < 1) {
			r->low = s->low;
			r->high = s->high;
		}
		if (limit.low > most)
			return false;
		s->low[i] = limit.low;
		s->high[i] = fmin(limit.high, most);
		r->allowed[i] = !i || (i >= box->f1 && i <= box->m2 && limit.status != BOX_IDLE);
		r->sd[i] = i < box->m1 ? s->s[i] : 0;
		r->sr[i] = i && i >= box->f2 ? s->s[i] : 0;
		least += s->low[i];
		room += r->allowed[i] ? s->high[i] : 0;
		set_below(s, i, limit.status == BOX_USED, s->low[i], s->high[i]);
	}
	return least <= 1 + 1e-12 && room >= 1 - 1e-12;
}

/* Adds the tangents at the shares of the answer where results are above all lines; the oldest make
 * room. Returns how many were added. */
static unsigned int cut(struct search *s)
{
	unsigned int added = 0;

	if (!s->most_lines)
		return 0;
	for (uint32_t i = 1; i < s->ring.n; i++) {
		double w = s->answer.w[i], result = search_result(s, w);
		double below = fmax(s->ring.m[i] * w + s->ring.b[i], 0);

		if (!s->ring.allowed[i] || !(w > 0))
			continue;
		for (size_t k = 0; k < s->nlines; k++)
			if (s->lines[k].of == i)
				below = fmax(below, s->lines[k].m * w + s->lines[k].b);
		if (result - below <= 1e-11)
			continue;
		if (s->nlines < s->most_lines)
			s->next_line = s->nlines++;
		else
			s->next_line = (s->next_line + 1) % s->most_lines;
		s->lines[s->next_line] =
			(struct divide_line){ i, s->e * result / w, (1 - s->e) * result };
		added++;
	}
	return added;
}

/* Convex results: tangents until the relaxation's results are those of its shares. */
static int cut_planes(struct search *s, struct box *box)
{
	unsigned int round = 0;
	int err;

	if (s->ring.n > CUTS_MOST)
		return 0;
	/* an offer changes the ring, so it comes when the cuts are made */
	while (round++ < CUT_ROUNDS && !search_closed(s, box) && cut(s)) {
		search_offer(s, s->answer.w);
		if (!relax(s, box))
			return 0;
		s->ring.lines = s->lines;
		s->ring.nlines = s->nlines;
		err = search_solve(s, box->m2 - box->f1 + 1);
		if (err)
			return err;
		box->bound = fmax(box->bound, s->answer.bound);
	}
	return 0;
}

/* The processor whose results are farthest above the line below them, at shares w of the box's
 * relaxation; 0: none, or it is settled. */
static uint32_t unsettled(const struct search *s, const struct box *box, const double *w)
{
	bool one = box->f1 == box->f2 && box->m1 == box->m2;
	double most = 1e-12;
	uint32_t found = 0;

	if (!search_alike(s, box) || s->growth == GROWTH_CONVEX ||
	    (s->growth == GROWTH_LINEAR && !(s->b > 0)) ||
	    (s->growth == GROWTH_CONCAVE && s->ring.n > SUPPORTS_MOST))
		return 0;
	for (uint32_t i = box->f1; i <= box->m2; i++) {
		bool used = (one && (i == box->f1 || i == box->m1)) ||
			    (box->limits && box->limits[i].status != BOX_FREE);
		double above = search_result(s, w[i]) - s->ring.m[i] * w[i] - s->ring.b[i];

		if ((s->growth == GROWTH_LINEAR && used) || !(w[i] > 0) || above < most)
			continue;
		most = above;
		found = i;
	}
	return found;
}

int search_look_at(struct search *s, struct box *box, uint32_t *settle, double *w)
{
	unsigned int rounds = s->growth == GROWTH_CONVEX ? TANGENTS : 1;
	int err;

	*settle = 0;
	*w = 0;
	memcpy(s->at, s->best, s->ring.n * sizeof(double));
	for (unsigned int round = 0; round < rounds; round++) {
		double before = box->bound;

		if (!relax(s, box)) {
			box->bound = INFINITY;
			return 0;
		}
		err = search_solve(s, box->m2 - box->f1 + 1);
		if (err)
			return err;
		box->bound = fmax(box->bound, s->answer.bound);
		memcpy(s->at, s->answer.w, s->ring.n * sizeof(double));
		if (round && box->bound <= before * (1 + SEARCH_CLOSE))
			break;
	}
	/* before an offer changes the ring's results */
	*settle = unsettled(s, box, s->answer.w);
	*w = s->answer.w[*settle];
	if (s->growth == GROWTH_CONVEX) {
		err = cut_planes(s, box);
		if (err)
			return err;
	}
	search_offer(s, s->answer.w);
	/* the relaxation may be the plan's own ring */
	if (s->growth == GROWTH_LINEAR &&
	    (search_closed(s, box) ||
	     (!(s->b > 0) && search_alike(s, box) && isfinite(s->answer.bound))))
		return 0;
	return search_polish(s);
}
