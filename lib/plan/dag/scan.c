// SPDX-License-Identifier: GPL-2.0-or-later
#include "scan.h"

#include <float.h>

#define BLOCK 16

static inline double greater(double a, double b)
{
	return a > b ? a : b;
}

static inline double lesser(double a, double b)
{
	return a < b ? a : b;
}

static void raise_one(double *restrict arrival, const double *restrict startup,
		      const double *restrict unit, double data, double time, uint32_t processors)
{
	for (uint32_t j = 0; j < processors; j++)
		arrival[j] = greater(arrival[j], time + (startup[j] + data * unit[j]));
}

/* With routes for three sizes, the best of them is as in dag_machine_transfer(). */
static void raise_three(double *restrict arrival, const double *restrict startup,
			const double *restrict unit, size_t table, double data, double time,
			uint32_t processors)
{
	for (uint32_t j = 0; j < processors; j++) {
		double a = startup[j] + data * unit[j];
		double b = startup[table + j] + data * unit[table + j];
		double c = startup[2 * table + j] + data * unit[2 * table + j];

		arrival[j] = greater(arrival[j], time + lesser(lesser(a, b), c));
	}
}

void dag_scan_arrivals(const struct dag_machine *m, uint32_t from, double data, double time,
		       double *arrival)
{
	size_t at = (size_t)from * m->nodes;

	if (m->tables == 1)
		raise_one(arrival, m->routes.startup + at, m->routes.per_unit + at, data, time,
			  m->processors);
	else
		raise_three(arrival, m->routes.startup + at, m->routes.per_unit + at,
			    (size_t)m->processors * m->nodes, data, time, m->processors);
}

void dag_scan_raise(double *arrival, uint32_t processors, double time)
{
	for (uint32_t j = 0; j < processors; j++)
		arrival[j] = greater(arrival[j], time);
}

uint32_t dag_scan_firsts(const struct dag_scan *s, double run, uint32_t *out)
{
	const double *arrival = s->arrival, *free = s->free;
	const double *last_end = s->last_end, *widest = s->widest;
	uint32_t processors = s->processors, count = 0;
	double least = DBL_MAX;

	for (uint32_t j = 0; j < processors; j++)
		least = lesser(greater(arrival[j], free[j]), least);
	for (uint32_t first = 0; first < processors; first += BLOCK) {
		uint32_t end = first + BLOCK < processors ? first + BLOCK : processors;
		double near = DBL_MAX;

		/* most are too far away, and neighbours have numbers that are near */
		for (uint32_t j = first; j < end; j++)
			near = lesser(arrival[j], near);
		if (near > least)
			continue;
		/* without branches, which could not be foreseen */
		for (uint32_t j = first; j < end; j++) {
			bool early = arrival[j] <= least;

			out[count] = j;
			count += (early & (free[j] <= least)) |
				 (early & (last_end[j] >= arrival[j] + run) & (widest[j] >= run));
		}
	}
	return count;
}
