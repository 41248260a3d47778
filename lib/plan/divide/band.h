/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file band.h
 * Band systems of linear equations: LU factors with row scaling and partial pivoting. As accurate
 * as with a full matrix, in a time that is linear in the number of unknowns.
 */
#ifndef PLAN_BAND_H
#define PLAN_BAND_H

#include <stddef.h>
#include <stdint.h>

struct band {
	size_t n, room;
	size_t below, above; /**< diagonals */
	size_t width; /**< of a row of cells: pivoting fills in `below` more */
	double *cells; /**< element (i,j) is cells[i * width + j - i + below] */
	double *scale;
	uint8_t *pivot;
};

/** 0 or -ENOMEM. */
int band_begin(struct band *band, size_t room, size_t below, size_t above);
void band_end(struct band *band);
/** Sets all to zero, for n unknowns. */
void band_clear(struct band *band, size_t n);
static inline double *band_at(struct band *band, size_t i, size_t j)
{
	return &band->cells[i * band->width + j + band->below - i];
}
/** Factors in place. 0, or -EDOM: singular. */
int band_factor(struct band *band);
/** Solves; x is the right side, and becomes the solution. */
void band_solve(const struct band *band, double *x);
/** The same with the transposed matrix. */
void band_solve_transposed(const struct band *band, double *x);

#endif
