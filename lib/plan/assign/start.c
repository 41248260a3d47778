// SPDX-License-Identifier: GPL-2.0-or-later
/* First plans for large graphs, from METIS: it balances works and cuts few volumes, which is not
 * what is sought, but near it. Its numbers have 32 bits. */
#include <errno.h>
#include <math.h>
#include <metis.h>
#include <stdlib.h>

#include "start.h"

/* Sums of weights stay below 2^30. */
static idx_t scaled(double value, double factor)
{
	return (idx_t)ceil(value * factor);
}

static double scale_of(double total, uint64_t count)
{
	double room = 0x1p30 - count;

	return total > room ? room / total : 1;
}

struct csr {
	idx_t tasks, parts, *start, *to, *volume, *work, *at;
	real_t *shares;
};

static void csr_free(struct csr *c)
{
	free(c->start);
	free(c->to);
	free(c->volume);
	free(c->work);
	free(c->at);
	free(c->shares);
}

static int csr_make(struct csr *c, const struct assign_problem *p, uint32_t parts)
{
	uint32_t edges = p->start[p->tasks];
	double volumes = scale_of(2 * p->total_volume, edges);
	double works = scale_of(p->total_work, p->tasks), sum = 0;

	c->tasks = p->tasks;
	c->parts = parts;
	c->start = malloc(((size_t)p->tasks + 1) * sizeof(*c->start));
	c->to = malloc(((size_t)edges + 1) * sizeof(*c->to));
	c->volume = malloc(((size_t)edges + 1) * sizeof(*c->volume));
	c->work = malloc((size_t)p->tasks * sizeof(*c->work));
	c->at = malloc((size_t)p->tasks * sizeof(*c->at));
	c->shares = malloc(parts * sizeof(*c->shares));
	if (!c->start || !c->to || !c->volume || !c->work || !c->at || !c->shares)
		return -ENOMEM;
	for (uint32_t u = 0; u < p->tasks; u++) {
		c->start[u] = p->start[u];
		c->work[u] = scaled(p->work[u], works);
	}
	c->start[p->tasks] = edges;
	for (uint32_t e = 0; e < edges; e++) {
		c->to[e] = p->to[e];
		c->volume[e] = p->volume[e] ? scaled(p->volume[e], volumes) : 1;
	}
	for (uint32_t k = 0; k < parts; k++)
		sum += c->shares[k] = p->machine ? 1 / p->machine->compute[k] : 1;
	for (uint32_t k = 0; k < parts; k++)
		c->shares[k] /= sum;
	return 0;
}

int assign_start(const struct assign_problem *problem, uint32_t parts, uint32_t slack,
		 uint64_t seed, uint32_t *at)
{
	idx_t options[METIS_NOPTIONS], constraints = 1, cut;
	struct csr c = { 0 };
	int err, status = METIS_ERROR;

	err = csr_make(&c, problem, parts);
	/* more edges than its numbers count, or hardly a task for each */
	if (!err && problem->start[problem->tasks] < INT32_MAX && parts > 1 &&
	    problem->tasks / parts > 1 && problem->total_work > 0) {
		METIS_SetDefaultOptions(options);
		options[METIS_OPTION_SEED] = (idx_t)(seed & INT32_MAX);
		options[METIS_OPTION_UFACTOR] = slack;
		status = METIS_PartGraphKway(&c.tasks, &constraints, c.start, c.to, c.work, NULL,
					     c.volume, &c.parts, problem->machine ? c.shares : NULL,
					     NULL, options, &cut, c.at);
		if (status == METIS_ERROR_MEMORY)
			err = -ENOMEM;
	}
	for (uint32_t u = 0; u < problem->tasks && !err; u++)
		at[u] = status == METIS_OK ? (uint32_t)c.at[u] : u % parts;
	csr_free(&c);
	return err;
}
