// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The systems as paper 2 prints them, for comparison: all processors have work.
 *
 *   1 (section 3.1, eq. 1)  A_i W_i = S_i + C_i x_{i+1} + A_{i+1} W_{i+1}
 *   2 (section 3.1)         A_i W_i = S_{i+1} + C_{i+1} x_{i+1} + A_{i+1} W_{i+1}, and without the
 *                           first two terms for the last; x should be x_{i+2}
 *   3 (eq. 1 of 3.2.2)      A_i W_i = A_{i+1} W_{i+1} + C_i x_{i+1} - C_i Q_i from i = 2; the matrix's
 *                           first row counts W where R is meant
 *   4 (eq. 2 of 3.2.3)      A_i W_i = A_{i+1} W_{i+1} + S_i - C_i Q_i from i = 2, and no sending in the
 *                           first; the data's time S_{i+1} + C_{i+1} x_{i+2} is missing, S_i has the
 *                           wrong sign
 * x_i is W_i + ... + W_n, Q_i is R_2 + ... + R_i. Between 2 and n they are solved for two values of
 * x_2; what is left of the first equation for each gives the x_2 for which it holds.
 */
#include "ring.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define ROUNDS 60

struct printed {
	const struct divide_problem *p;
	struct band band;
	double *m, *b; /* results, linear at the current shares */
	double *zero, *one; /* x and Q of all, for x_2 = 0 and for x_2 = W */
};

static double share_of(const double *x, uint32_t i, uint32_t n)
{
	return x[2 * i - 2] - (i + 1 < n ? x[2 * i] : 0);
}

/* The row of the equation between i and i + 1, both after the first processor. */
static void put_pair(struct printed *s, uint32_t i, double *right)
{
	const struct divide_problem *p = s->p;
	size_t row = 2 * (size_t)i, x = row - 2, next = row;
	double of_next = 0;

	*right = 0;
	if (p->result == DIVIDE_NONE && !p->serial) {
		of_next = p->c[i];
		*right = p->s[i];
	} else if (p->result == DIVIDE_NONE && i + 2 < p->n) {
		of_next = p->c[i + 1];
		*right = p->s[i + 1];
	} else if (p->result != DIVIDE_NONE) {
		of_next = p->serial ? 0 : p->c[i];
		*right = p->serial ? p->s[i] : 0;
		*band_at(&s->band, row, x + 1) = p->c[i];
	}
	*band_at(&s->band, row, x) += p->a[i];
	*band_at(&s->band, row, next) -= p->a[i] + p->a[i + 1] + of_next;
	if (i + 2 < p->n)
		*band_at(&s->band, row, next + 2) += p->a[i + 1];
}

static int solve_tail(struct printed *s)
{
	const struct divide_problem *p = s->p;
	uint32_t n = p->n;

	band_clear(&s->band, 2 * (size_t)n - 2);
	*band_at(&s->band, 0, 0) = 1;
	s->zero[0] = 0;
	s->one[0] = p->work;
	for (uint32_t i = 1; i < n; i++) {
		size_t row = 2 * (size_t)i - 1, x = row - 1;

		*band_at(&s->band, row, x + 1) = 1;
		if (i > 1)
			*band_at(&s->band, row, x - 1) = -1;
		*band_at(&s->band, row, x) -= s->m[i];
		if (i + 1 < n) {
			*band_at(&s->band, row, x + 2) += s->m[i];
			put_pair(s, i, &s->zero[row + 1]);
			s->one[row + 1] = s->zero[row + 1];
		}
		s->zero[row] = s->one[row] = s->b[i];
	}
	if (band_factor(&s->band))
		return -EDOM;
	band_solve(&s->band, s->zero);
	band_solve(&s->band, s->one);
	return 0;
}

/* The first equation, right minus left. */
static double first(const struct printed *s, const double *x)
{
	const struct divide_problem *p = s->p;
	double y = x[0], q = 0, left = p->a[0] * share_of(x, 1, p->n) - p->a[0] * (p->work - y);

	if (p->result == DIVIDE_NONE && p->serial)
		return left + (p->n > 2 ? p->s[1] + p->c[1] * y : 0) +
		       (p->a[1] - p->a[0]) * share_of(x, 1, p->n);
	left += (p->a[1] - p->a[0]) * share_of(x, 1, p->n);
	if (!p->serial)
		left += p->s[0] + p->c[0] * y;
	for (uint32_t i = 1; i < p->n && p->result != DIVIDE_NONE; i++) {
		bool matrix = p->result == DIVIDE_LINEAR && !p->serial;

		q += matrix ? share_of(x, i, p->n) + p->b : 0;
		left += p->s[i] + p->c[i] * (matrix ? q : x[2 * i - 1]);
	}
	return left;
}

static void linearise(struct printed *s, const double *w)
{
	const struct divide_problem *p = s->p;

	for (uint32_t i = 1; i < p->n; i++) {
		double result = divide_result_of(p, w[i]);

		s->m[i] = p->result == DIVIDE_LINEAR  ? p->m
			  : p->result == DIVIDE_POWER ? p->e * result / w[i]
						      : 0;
		s->b[i] = p->result == DIVIDE_LINEAR  ? p->b
			  : p->result == DIVIDE_POWER ? (1 - p->e) * result
						      : 0;
	}
}

static int solve(struct printed *s, double *w)
{
	const struct divide_problem *p = s->p;
	unsigned int rounds = p->result == DIVIDE_POWER ? ROUNDS : 1;

	for (uint32_t i = 0; i < p->n; i++)
		w[i] = p->work / p->n;
	for (unsigned int round = 0; round < rounds; round++) {
		double at_zero, at_one, part, change = 0;

		linearise(s, w);
		if (solve_tail(s))
			return -EDOM;
		at_zero = first(s, s->zero);
		at_one = first(s, s->one);
		part = at_zero / (at_zero - at_one);
		for (size_t i = 0; i < 2 * (size_t)p->n - 2; i++)
			s->zero[i] += part * (s->one[i] - s->zero[i]);
		for (uint32_t i = 0; i < p->n; i++) {
			double share = i ? share_of(s->zero, i, p->n) : p->work - s->zero[0];

			if (!(share >= -1e-13 * p->work) || (rounds > 1 && i && !(share > 0)))
				return -EDOM;
			change = fmax(change, fabs(share - w[i]));
			w[i] = fmax(share, 0);
		}
		if (rounds == 1 || change <= 1e-13 * p->work)
			return 0;
	}
	return -EDOM;
}

int divide_printed(struct divide_plan *plan, const struct divide_problem *problem)
{
	size_t n = problem->n;
	struct printed s = { .p = problem };
	int err = divide_plan_begin(plan, problem);
	double *block = NULL;

	if (err)
		return err;
	plan->shares[0] = problem->work;
	if (n > 1) {
		block = calloc(6 * n, sizeof(*block));
		err = block ? band_begin(&s.band, 2 * n, 2, 4) : -ENOMEM;
		if (err)
			goto out;
		s.m = block;
		s.b = block + n;
		s.zero = block + 2 * n;
		s.one = block + 4 * n;
		err = solve(&s, plan->shares);
		if (err)
			goto out;
	}
	divide_timing(plan, problem);
	plan->formula = plan->shares[0] * problem->a[0];
	if (problem->serial && n > 1)
		plan->formula += (problem->work - plan->shares[0]) * problem->c[0] + problem->s[0];
	plan->steps = 1;
out:
	band_end(&s.band);
	free(block);
	return err;
}
