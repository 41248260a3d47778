// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Without results: cases 1 and 2 of paper 2, all prefixes in one pass.
 *
 * Let x_i be the load that arrives at processor i and f_i the time left then. All processors of a
 * prefix end together, so x and f of one processor follow from those of the next by sums of terms
 * that are not negative:
 *   parallel  x_i = x_{i+1} + f_i/A_i      f_i = f_{i+1} + S_i + C_i x_{i+1}
 *   serial    x_i = x_{i+1} + f_{i+1}/A_i  f_i = f_{i+1} + S_i + C_i x_{i+1}
 * (serial: A_i W_i is the time left once the data are sent). The product of these steps from the
 * first processor to the last one of the prefix, where f = A x, gives W and T as c + d x. A prefix
 * is useful if its last share x = (W - c)/d is positive. c only grows: once it is above W, no
 * longer prefix is useful. Only this step subtracts, so no accuracy is lost whatever n is.
 */
#include "ring.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* One row of the product: of x, of f, and constant. The first two are scaled together. */
struct row {
	double x, f, one;
};

/* Adds a processor after that of the row, whose rate is 1/A, over a link with s and c. */
static struct row step(struct row row, double rate, double s, double c, bool serial, double scale)
{
	double f = row.x * rate + row.f;
	double sent = serial ? row.f : f; /* parallel, f_i/A_i has S_i + C_i x of its own */

	return (struct row){ row.x + sent * c, f, s > 0 ? row.one + sent * s * scale : row.one };
}

/* If the link is as slow as its sender computes, sending first does not help. */
static bool ends(const struct divide_problem *p, uint32_t i)
{
	return p->serial && p->c[i] >= p->a[i];
}

/* The last processor of the best prefix. */
static uint32_t best_last(const struct divide_problem *p)
{
	struct row load = { 1, 0, 0 }, time = { 0, 1, 0 };
	double best = INFINITY, scale = 1;
	uint32_t last = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		/* what x = 1, f = A of the last processor becomes in the first */
		double d = load.x + load.f * p->a[i], of_time = time.x + time.f * p->a[i];
		double finish = time.one + of_time * ((p->work - load.one) / d);

		if (!(load.one < p->work))
			break;
		if (finish < best) {
			best = finish;
			last = i;
		}
		if (i + 1 == p->n || ends(p, i))
			break;
		load = step(load, 1 / p->a[i], p->s[i], p->c[i], p->serial, scale);
		time = step(time, 1 / p->a[i], p->s[i], p->c[i], p->serial, scale);
		if (load.x > 0x1p100 || load.f > 0x1p100) {
			load.x *= 0x1p-100;
			load.f *= 0x1p-100;
			time.x *= 0x1p-100;
			time.f *= 0x1p-100;
			/* infinite in the end: then `one` is above W with the next start-up */
			scale *= 0x1p100;
		}
	}
	return last;
}

/* Of processor i: x_{i+1} = on x_i - start, and W_i = own x_i + start. */
struct part {
	double on, own, start;
};

/*
 * From the last processor to the first: f_i = alpha x_i + beta, by sums and quotients of terms that
 * are not negative. Then back: x_{i+1} from x_i, where errors shrink.
 */
int divide_chain(struct divide_plan *plan, const struct divide_problem *p)
{
	uint32_t last = best_last(p);
	struct part *parts = malloc(((size_t)last + 1) * sizeof(*parts));
	double alpha = p->a[last], beta = 0, x = p->work;

	if (!parts)
		return -ENOMEM;
	for (uint32_t i = last; i-- > 0;) {
		double a = p->a[i], s = p->s[i], c = p->c[i];
		/* A_i W_i = slope x_{i+1} + start, and f_i is that, serial S_i + C_i x_{i+1}
		 * more */
		double slope = alpha + (p->serial ? 0 : c), start = beta + (p->serial ? 0 : s);
		double below = 1 / (a + slope);

		alpha = a * ((slope + (p->serial ? c : 0)) * below);
		beta = p->serial ? s + start * ((a - c) * below) : start * (a * below);
		parts[i] = (struct part){ a * below, slope * below, start * below };
	}
	for (uint32_t i = 0; i < last; i++) {
		double next = parts[i].on * x - parts[i].start;

		/* by rounding: two prefixes tie, or the share is too small */
		if (!(next > p->work * 1e-200))
			next = 0;
		plan->shares[i] = next > 0 ? parts[i].own * x + parts[i].start : x;
		x = next;
	}
	plan->shares[last] = x;
	free(parts);
	plan->optimal = true;
	plan->steps = 1;
	return 0;
}
