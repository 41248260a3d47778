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

#define BAND_BELOW 2
#define BAND_ABOVE 4
#define BAND_WIDTH (2 * BAND_BELOW + BAND_ABOVE + 1) /* pivoting fills in BAND_BELOW diagonals */

struct band {
	size_t n, room;
	double *cells; /**< element (i,j) is cells[i * BAND_WIDTH + j - i + BAND_BELOW] */
	double *scale;
	uint8_t *pivot;
};

int band_begin(struct band *band, size_t room); /**< 0 or -ENOMEM */
void band_end(struct band *band);
/** Sets all to zero, for n unknowns. */
void band_clear(struct band *band, size_t n);
static inline double *band_at(struct band *band, size_t i, size_t j)
{
	return &band->cells[i * BAND_WIDTH + j + BAND_BELOW - i];
}
/** Factors in place. 0, or -EDOM: singular. */
int band_factor(struct band *band);
/** Solves; x is the right side, and becomes the solution. */
void band_solve(const struct band *band, double *x);
/** The same with the transposed matrix. */
void band_solve_transposed(const struct band *band, double *x);

#endif
