/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file search.h
 * What the files of the branch and bound share. A box is a set of plans: a range of first
 * processors behind P_1 that have work, a range of last ones, and what is settled for each.
 */
#ifndef PLAN_DIVIDE_SEARCH_H
#define PLAN_DIVIDE_SEARCH_H

#include "ring.h"

#define SEARCH_CLOSE 3e-9 /* boxes that cannot be better by more than this are left out */
#define SEARCH_CLOSE_CONCAVE 5e-7 /* the same where shares are split */

enum box_status { BOX_FREE, BOX_USED, BOX_IDLE };

/** What is settled for one processor: whether it has work, and how much. */
struct box_limit {
	enum box_status status;
	double low, high; /**< of its share */
};

struct box {
	uint32_t f1, f2, m1, m2;
	double bound;
	struct box_limit *limits; /**< of each processor; NULL: nothing is settled */
};

/** Boxes, the one with the least bound first. */
struct box_heap {
	struct box *box;
	size_t count, room;
};

/** 0 or -ENOMEM. The heap owns the limits of what was pushed. */
int box_push(struct box_heap *heap, struct box box);
/** The caller frees its limits. The heap must not be empty. */
struct box box_pop(struct box_heap *heap);
/** Pushes a box with its limits copied and, unless i is 0, `limit` for processor i of n. */
int box_push_copy(struct box_heap *heap, struct box box, uint32_t n, uint32_t i,
		  struct box_limit limit);
void box_heap_end(struct box_heap *heap);

/** How results grow with a share W. A power of 0 or 1 is linear. */
enum growth {
	GROWTH_LINEAR, /**< mW + b */
	GROWTH_CONCAVE, /**< kW^e, e < 1: chords are below it, between their ends */
	GROWTH_CONVEX /**< kW^e, e > 1: tangents are below it */
};

struct search {
	struct plan_watch *watch;
	struct divide_ring ring;
	struct divide_room room;
	struct divide_answer answer;
	enum growth growth;
	double *s; /**< start-ups */
	double m, b, k, e; /**< of results, work being 1 */
	double *best, *at, *trial; /**< shares: of the best plan; where a power is made linear */
	bool *best_order; /**< its links on which results go first */
	double finish; /**< of the best plan */
	double *low, *high; /**< limits of shares, for the ring */
	struct divide_line *lines; /**< tangents below convex results, valid in every box */
	size_t nlines, most_lines, next_line;
	uint64_t steps, effort;
	struct box_heap heap;
	double open; /**< bound of boxes that cannot be split further */
};

/** Results of a share that is not 0. */
double search_result(const struct search *s, double w);
/** Solves s->ring. 0 or -ENOMEM; the answer may be neither exact nor a bound. */
int search_solve(struct search *s, uint32_t processors);
/** Takes shares as the best plan if they are shares and finish earlier. */
void search_offer(struct search *s, const double *w);
/** Offers the best shares for the processors that have work in s->answer, with their exact
 *  results: in one step if results are linear, else in several linear steps. 0 or -ENOMEM. */
int search_polish(struct search *s);

/** A better bound of the box, and plans offered on the way. *settle: the processor to settle next,
 *  0: none; *w: its share in the relaxation. 0 or -ENOMEM. */
int search_look_at(struct search *s, struct box *box, uint32_t *settle, double *w);
/** No start-up counts for only a part of the box. */
bool search_alike(const struct search *s, const struct box *box);
/** The box cannot hold a plan that is better by more than the tolerance. */
bool search_closed(const struct search *s, const struct box *box);

#endif
