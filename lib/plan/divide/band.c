// SPDX-License-Identifier: GPL-2.0-or-later
#include "band.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int band_begin(struct band *band, size_t room)
{
	*band = (struct band){ .room = room };
	band->cells = malloc(room * BAND_WIDTH * sizeof(double));
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
	memset(band->cells, 0, n * BAND_WIDTH * sizeof(double));
}

static size_t lesser(size_t a, size_t b)
{
	return a < b ? a : b;
}

int band_factor(struct band *band)
{
	size_t n = band->n;

	/* powers of two, so that nothing is rounded */
	for (size_t i = 0; i < n; i++) {
		double *row = band->cells + i * BAND_WIDTH, most = 0;
		int exponent;

		for (int k = 0; k < BAND_WIDTH; k++)
			most = fmax(most, fabs(row[k]));
		if (!(most > 0) || !isfinite(most))
			return -EDOM;
		frexp(most, &exponent);
		band->scale[i] = ldexp(1, -exponent);
		for (int k = 0; k < BAND_WIDTH; k++)
			row[k] *= band->scale[i];
	}
	for (size_t k = 0; k < n; k++) {
		size_t last = lesser(k + BAND_BELOW, n - 1), pivot = k;
		size_t right = lesser(k + BAND_BELOW + BAND_ABOVE, n - 1);
		double head;

		for (size_t i = k + 1; i <= last; i++)
			if (fabs(*band_at(band, i, k)) > fabs(*band_at(band, pivot, k)))
				pivot = i;
		band->pivot[k] = pivot - k;
		head = *band_at(band, pivot, k);
		if (!(fabs(head) > 0) || !isfinite(head))
			return -EDOM;
		for (size_t j = k; pivot != k && j <= right; j++) {
			double swap = *band_at(band, k, j);

			*band_at(band, k, j) = *band_at(band, pivot, j);
			*band_at(band, pivot, j) = swap;
		}
		for (size_t i = k + 1; i <= last; i++) {
			double factor = *band_at(band, i, k) / head;

			*band_at(band, i, k) = factor;
			for (size_t j = k + 1; factor != 0 && j <= right; j++)
				*band_at(band, i, j) -= factor * *band_at(band, k, j);
		}
	}
	return 0;
}

static double cell(const struct band *band, size_t i, size_t j)
{
	return band->cells[i * BAND_WIDTH + j + BAND_BELOW - i];
}

static void swap(double *x, size_t i, size_t j)
{
	double keep = x[i];

	x[i] = x[j];
	x[j] = keep;
}

void band_solve(const struct band *band, double *x)
{
	size_t n = band->n;

	for (size_t k = 0; k < n; k++)
		x[k] *= band->scale[k];
	for (size_t k = 0; k < n; k++) {
		swap(x, k, k + band->pivot[k]);
		for (size_t i = k + 1; i <= lesser(k + BAND_BELOW, n - 1); i++)
			x[i] -= cell(band, i, k) * x[k];
	}
	for (size_t k = n; k-- > 0;) {
		for (size_t j = k + 1; j <= lesser(k + BAND_BELOW + BAND_ABOVE, n - 1); j++)
			x[k] -= cell(band, k, j) * x[j];
		x[k] /= cell(band, k, k);
	}
}

void band_solve_transposed(const struct band *band, double *x)
{
	size_t n = band->n;

	for (size_t k = 0; k < n; k++) {
		x[k] /= cell(band, k, k);
		for (size_t j = k + 1; j <= lesser(k + BAND_BELOW + BAND_ABOVE, n - 1); j++)
			x[j] -= cell(band, k, j) * x[k];
	}
	for (size_t k = n; k-- > 0;) {
		for (size_t i = k + 1; i <= lesser(k + BAND_BELOW, n - 1); i++)
			x[k] -= cell(band, i, k) * x[i];
		swap(x, k, k + band->pivot[k]);
	}
	for (size_t k = 0; k < n; k++)
		x[k] *= band->scale[k];
}
