// SPDX-License-Identifier: GPL-2.0-or-later
#include "band.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int band_begin(struct band *band, size_t room, size_t below, size_t above)
{
	*band = (struct band){ .room = room, .below = below, .above = above };
	band->width = 2 * below + above + 1;
	band->cells = malloc(room * band->width * sizeof(double));
	band->scale = malloc(room * sizeof(double));
	band->pivot = malloc(room);
	return band->cells && band->scale && band->pivot ? 0 : -ENOMEM;
}

void band_end(struct band *band)
{
	free(band->cells);
	free(band->scale);
	free(band->pivot);
	*band = (struct band){ 0 };
}

void band_clear(struct band *band, size_t n)
{
	band->n = n;
	memset(band->cells, 0, n * band->width * sizeof(double));
}

static size_t lesser(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Powers of two, so that nothing is rounded. */
static int scale_row(double *row, size_t width, double *scale)
{
	double most = 0;
	int exponent;

	for (size_t k = 0; k < width; k++)
		most = fmax(most, fabs(row[k]));
	if (!(most > 0) || !isfinite(most))
		return -EDOM;
	frexp(most, &exponent);
	*scale = ldexp(1, -exponent);
	for (size_t k = 0; k < width; k++)
		row[k] *= *scale;
	return 0;
}

/* The rows of column k, which are `below` more, from the diagonal on. */
static int eliminate(struct band *band, size_t k)
{
	size_t count = lesser(band->below, band->n - 1 - k), pivot = 0, step = band->width - 1;
	size_t right = lesser(band->below + band->above, band->n - 1 - k) + 1;
	double *top = band_at(band, k, k), head;

	for (size_t i = 1; i <= count; i++)
		if (fabs(top[i * step]) > fabs(top[pivot * step]))
			pivot = i;
	band->pivot[k] = pivot;
	head = top[pivot * step];
	if (!(fabs(head) > 0) || !isfinite(head))
		return -EDOM;
	for (size_t j = 0; pivot && j < right; j++) {
		double swap = top[j];

		top[j] = top[pivot * step + j];
		top[pivot * step + j] = swap;
	}
	for (size_t i = 1; i <= count; i++) {
		double *row = top + i * step, factor = row[0] / head;

		row[0] = factor;
		for (size_t j = 1; factor != 0 && j < right; j++)
			row[j] -= factor * top[j];
	}
	return 0;
}

int band_factor(struct band *band)
{
	int err = 0;

	for (size_t i = 0; i < band->n && !err; i++)
		err = scale_row(band->cells + i * band->width, band->width, &band->scale[i]);
	for (size_t k = 0; k < band->n && !err; k++)
		err = eliminate(band, k);
	return err;
}

static double cell(const struct band *band, size_t i, size_t j)
{
	return band->cells[i * band->width + j + band->below - i];
}

static void swap(double *x, size_t i, size_t j)
{
	double keep = x[i];

	x[i] = x[j];
	x[j] = keep;
}

void band_solve(const struct band *band, double *x)
{
	size_t n = band->n, below = band->below, right = below + band->above;

	for (size_t k = 0; k < n; k++)
		x[k] *= band->scale[k];
	for (size_t k = 0; k < n; k++) {
		swap(x, k, k + band->pivot[k]);
		for (size_t i = k + 1; i <= lesser(k + below, n - 1); i++)
			x[i] -= cell(band, i, k) * x[k];
	}
	for (size_t k = n; k-- > 0;) {
		for (size_t j = k + 1; j <= lesser(k + right, n - 1); j++)
			x[k] -= cell(band, k, j) * x[j];
		x[k] /= cell(band, k, k);
	}
}

void band_solve_transposed(const struct band *band, double *x)
{
	size_t n = band->n, below = band->below, right = below + band->above;

	for (size_t k = 0; k < n; k++) {
		x[k] /= cell(band, k, k);
		for (size_t j = k + 1; j <= lesser(k + right, n - 1); j++)
			x[j] -= cell(band, k, j) * x[k];
	}
	for (size_t k = n; k-- > 0;) {
		for (size_t i = k + 1; i <= lesser(k + below, n - 1); i++)
			x[k] -= cell(band, i, k) * x[i];
		swap(x, k, k + band->pivot[k]);
	}
	for (size_t k = 0; k < n; k++)
		x[k] *= band->scale[k];
}
