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
	bool *results_first; /**< over link i before data (parallel only), else behind them */
};

/** What was found out about one. */
struct divide_answer {
	double *w; /**< shares */
	double bound; /**< no shares are done earlier; -INFINITY: none is known */
	bool exact; /**< and these are done then */
	unsigned int rounds; /**< systems that were solved */
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

/** The papers' equations for the processors that turn out to have work, with a proof by the dual
 *  system when nothing but them decides. 0 with an answer that may be neither exact nor a bound. */
void divide_direct(const struct divide_ring *ring, struct divide_room *room,
		   struct divide_answer *answer);
/** The equations for the processors in room->used as they stand; shares may be negative. False:
 *  they have no solution. */
bool divide_equations(const struct divide_ring *ring, struct divide_room *room, double *w,
		      double *finish);
/** The same as a linear programme, by GLPK, from what divide_direct() has left in room->has.
 *  0, -ENOMEM, -EDOM (GLPK gave up, or its time was over). */
int divide_lp(const struct divide_ring *ring, const struct divide_room *room, int milliseconds,
	      struct divide_answer *answer);

/** When all is done with these shares: in the ring's order on each link, as early as it can;
 *  start-ups count where something crosses. */
double divide_finish(const struct divide_ring *ring, const double *w);

/** Without results: the best prefix. */
int divide_chain(struct divide_plan *plan, const struct divide_problem *problem);
/** With results. */
int divide_search(struct divide_plan *plan, const struct divide_problem *problem,
		  struct plan_watch *watch);

int divide_plan_begin(struct divide_plan *plan, const struct divide_problem *problem);
/** Fills in everything that follows from the shares but the residual. */
void divide_timing(struct divide_plan *plan, const struct divide_problem *problem);

#endif
