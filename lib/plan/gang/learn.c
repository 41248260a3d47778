// SPDX-License-Identifier: GPL-2.0-or-later
/* Least squares with no negative term: the best of all choices of terms, of which there are seven. */
#include "learn.h"

#include <math.h>
#include <stdlib.h>

#define TERMS 3
#define SAME 1e-9 /* of squares of relative errors: more terms must be better than fewer */

static double term(int t, uint32_t count)
{
	return !t ? 1.0 / count : t == 1 ? 1.0 : count;
}

double gang_curve_at(const struct gang_curve *curve, uint32_t count)
{
	return curve->shared / count + curve->fixed + curve->each * count;
}

/* Gauss with pivots; false: no single solution. */
static bool solve(double m[TERMS][TERMS + 1], int n)
{
	for (int i = 0; i < n; i++) {
		int best = i;

		for (int r = i + 1; r < n; r++)
			if (fabs(m[r][i]) > fabs(m[best][i]))
				best = r;
		if (!(fabs(m[best][i]) > 1e-300))
			return false;
		for (int k = 0; k <= n; k++) {
			double swap = m[i][k];

			m[i][k] = m[best][k];
			m[best][k] = swap;
		}
		for (int r = 0; r < n; r++) {
			double f = m[r][i] / m[i][i];

			for (int k = i; k <= n && r != i; k++)
				m[r][k] -= f * m[i][k];
		}
	}
	for (int i = 0; i < n; i++)
		m[i][n] /= m[i][i];
	return true;
}

/* The curve of these terms (bits); false: there is none without a negative one. */
static bool fit(const struct gang_sample *s, size_t n, unsigned int terms, double out[TERMS])
{
	double m[TERMS][TERMS + 1] = { 0 };
	int of[TERMS], k = 0;

	for (int t = 0; t < TERMS; t++) {
		out[t] = 0;
		if (terms >> t & 1)
			of[k++] = t;
	}
	if ((size_t)k > n)
		return false;
	for (size_t i = 0; i < n; i++) {
		double weight = 1 / (s[i].seconds * s[i].seconds);

		for (int a = 0; a < k; a++) {
			double x = weight * term(of[a], s[i].count);

			for (int b = 0; b < k; b++)
				m[a][b] += x * term(of[b], s[i].count);
			m[a][k] += x * s[i].seconds;
		}
	}
	if (!solve(m, k))
		return false;
	for (int a = 0; a < k; a++) {
		if (!(m[a][k] >= 0 && isfinite(m[a][k])))
			return false;
		out[of[a]] = m[a][k];
	}
	return true;
}

bool gang_learn(const struct gang_sample *s, size_t n, struct gang_curve *out)
{
	/* fewer terms first, and among equals what the hosts share */
	static const unsigned int choices[] = { 1, 2, 4, 1 | 2, 1 | 4, 2 | 4, 7 };
	double least = INFINITY, t[TERMS];

	for (size_t i = 0; i < n; i++)
		if (!s[i].count || !(s[i].seconds > 0 && isfinite(s[i].seconds)))
			return false;
	for (size_t c = 0; n > 1 && c < sizeof(choices) / sizeof(choices[0]); c++) {
		struct gang_curve curve;
		double errors = 0;

		if (!fit(s, n, choices[c], t))
			continue;
		curve = (struct gang_curve){ t[0], t[1], t[2] };
		for (size_t i = 0; i < n; i++) {
			double off = gang_curve_at(&curve, s[i].count) / s[i].seconds - 1;

			errors += off * off;
		}
		if (errors < least - SAME) {
			least = errors;
			*out = curve;
		}
	}
	return least < INFINITY;
}

bool gang_learn_table(const struct gang_sample *s, size_t n, uint32_t hosts, double *seconds)
{
	struct gang_curve curve = { .fixed = n ? s[0].seconds : 0 };

	if (!n || (n > 1 && !gang_learn(s, n, &curve)))
		return false;
	for (uint32_t p = 1; p <= hosts; p++)
		seconds[p - 1] = gang_curve_at(&curve, p);
	for (size_t i = 0; i < n; i++)
		if (s[i].count <= hosts)
			seconds[s[i].count - 1] = s[i].seconds;
	return true;
}

double gang_learn_idle(enum gang_slowdown slowdown, double real, double utilization)
{
	return real / gang_slow(slowdown, utilization);
}
