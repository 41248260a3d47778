// SPDX-License-Identifier: GPL-2.0-or-later
/* Paper 1, section 1: the time of a job on a number of hosts, and the slowdown of a busy host. */
#include "gang.h"

#include <math.h>

/* From the measurements of Table 2: up to 5 % only the cycles are missing; from 30 % on a
 * time-sharing scheduler gives the job every other slice. A straight line between. */
#define CALM 0.05
#define BUSY 0.30
#define SHARED 2.0

double gang_slow(enum gang_slowdown slowdown, double utilization)
{
	double calm = 1 / (1 - CALM);

	if (slowdown == GANG_PAPER || utilization <= CALM)
		return 1 / (1 - utilization);
	if (utilization >= BUSY)
		return SHARED;
	return calm + (SHARED - calm) * (utilization - CALM) / (BUSY - CALM);
}

/* Pipe-Multiply-Roll on root x root hosts; a single host rolls nothing. */
static bool matmul(const struct gang_problem *p, uint32_t count, struct gang_times *out)
{
	double root = floor(sqrt((double)count) + 0.5), all = p->size * p->size;
	double block = p->alpha + 4 * p->beta * all / count;

	if (root * root != count)
		return false;
	out->compute = all * p->size / count * (p->t_mult + p->t_add);
	out->comm = count > 1 ? root * (root + 1) * block : 0;
	out->collect = count * block;
	out->load = root * (p->alpha + 4 * p->beta * all);
	return true;
}

static void wave(const struct gang_problem *p, uint32_t count, struct gang_times *out)
{
	double points = p->size / count;

	out->compute = p->steps * points * (3 * p->t_mult + 4 * p->t_add);
	out->comm = 2 * p->steps * (p->alpha + 8 * p->beta);
	out->collect = count * (p->alpha + 8 * p->beta * points);
	out->load = 0;
}

bool gang_times(const struct gang_problem *p, uint32_t count, struct gang_times *out)
{
	size_t entry = count - 1;

	switch (p->kind) {
	case GANG_MATMUL:
		return matmul(p, count, out);
	case GANG_WAVE:
		wave(p, count, out);
		return true;
	case GANG_TABLE:
		if (entry >= p->counts)
			return false;
		out->compute = p->compute[entry];
		out->comm = p->comm ? p->comm[entry] : 0;
		out->load = p->load ? p->load[entry] : 0;
		out->collect = p->collect ? p->collect[entry] : 0;
		return true;
	}
	return false;
}
