/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file ring.h
 * What the files of the divide planner share: a ring that is scaled, and its solutions. Work is 1
 * and a unit of time is what processor 0 needs for all of it, so that a tolerance means the same
 * for every input.
 */
#ifndef PLAN_DIVIDE_RING_H
#define PLAN_DIVIDE_RING_H

#include "band.h"
#include "divide.h"

/** R >= mW + b of one processor. */
struct divide_line {
	uint32_t of;
	double m, b;
};

/**
 * A ring with results, relaxed or not: which processors may have work, which start-ups count
 * (of data and of results apart), and results that are linear in each share.
 */
struct divide_ring {
	uint32_t n;
	bool serial;
	double *a, *c;
	double *sd, *sr; /**< start-up of data, of results, on link i */
	double *m, *b; /**< R_i = m_i W_i + b_i of a processor with work */
	bool *allowed; /**< [0] is always true */
	/* what only divide_lp() counts; the answer of divide_direct() may be outside */
	const double *low, *high; /**< limits of each share; NULL: none */
	const struct divide_line *lines; /**< results are not below these, nor below 0, either */
	size_t nlines; /**< 0: only m and b count */
	bool *results_first; /**< over link i before data (parallel only), else after them */
};

static inline double divide_sum(const double *of, uint32_t from, uint32_t to)
{
	double all = 0;

	for (uint32_t i = from; i < to; i++)
		all += of[i];
	return all;
}

/** A solution of a ring. */
struct divide_answer {
	double *w; /**< shares */
	double bound; /**< no shares finish earlier; -INFINITY: no bound is known */
	bool exact; /**< these shares finish at the bound */
	unsigned int rounds; /**< number of systems that were solved */
};

/** Room for the systems of rings up to n. */
struct divide_room {
	struct band band;
	double *x, *y, *phi, *rho, *wait;
	uint32_t *used;
	uint32_t nused;
	bool *has; /**< which have work */
};
int divide_room_begin(struct divide_room *room, uint32_t n);
void divide_room_end(struct divide_room *room);

/** Solves the equations of paper 2 (cases 3 and 4) for the processors that turn out to have work,
 *  with a proof by the dual system if only the equations decide. The answer may be neither exact
 *  nor a bound. */
void divide_direct(const struct divide_ring *ring, struct divide_room *room,
		   struct divide_answer *answer);
/** The equations for the processors in room->used as they stand; shares may be negative. False:
 *  they have no solution. */
bool divide_equations(const struct divide_ring *ring, struct divide_room *room, double *w,
		      double *finish);
/** Solves the ring as a linear programme with GLPK, starting from what divide_direct() left in
 *  room->has. 0, -ENOMEM, or -EDOM: GLPK gave up, or its time was over. */
int divide_lp(const struct divide_ring *ring, const struct divide_room *room, int milliseconds,
	      struct divide_answer *answer);

/** The same to about 1e-9, in a time that is linear in n, if all between the first allowed behind
 *  processor 0 and the last are allowed, and no results go first; limits and lines do not count.
 *  Bound and shares in `answer` are ones that are known. 0, -ENOMEM, or -EDOM: the ring is of another kind.
 *  The answer may be neither exact nor near. */
int divide_inner(const struct divide_ring *ring, struct plan_watch *watch,
		 struct divide_answer *answer);

/** The finish time of these shares, with the ring's order on each link and everything as early as
 *  possible. Start-ups count on links that are used. */
double divide_finish(const struct divide_ring *ring, const double *w);

/** The best plan without results (paper 2, cases 1 and 2): the best prefix. 0 or -ENOMEM. */
int divide_chain(struct divide_plan *plan, const struct divide_problem *problem);
/** The best plan with results (paper 2, cases 3 and 4). 0 or -ENOMEM. */
int divide_search(struct divide_plan *plan, const struct divide_problem *problem,
		  struct plan_watch *watch);

/** An empty plan with room for all processors. 0 or -ENOMEM. */
int divide_plan_begin(struct divide_plan *plan, const struct divide_problem *problem);
/** Fills in everything that follows from the shares, except the residual. */
void divide_timing(struct divide_plan *plan, const struct divide_problem *problem);

#endif
