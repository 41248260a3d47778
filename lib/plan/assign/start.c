// SPDX-License-Identifier: GPL-2.0-or-later
/* First plans for large graphs, from METIS: it balances works and cuts few volumes, which is near
 * the objective here but not the same. Its numbers have 32 bits. */
#include "start.h"

#include <errno.h>
#include <math.h>
#include <metis.h>
#include <stdlib.h>

#define TASKS_EACH 16
/* With fewer parts than this, recursive bisection is better and faster. */
#define KWAY_EACH 200

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

/* If the recursion of METIS runs out of tasks, it prints complaints: each part must get many tasks,
 * and no task may be as large as a part. */
static bool suits(const struct assign_problem *p, uint32_t parts)
{
	double most = p->total_work / parts / 4;

	if (parts < 2 || p->tasks / parts < TASKS_EACH || p->start[p->tasks] >= INT32_MAX)
		return false;
	for (uint32_t u = 0; u < p->tasks; u++)
		if (p->work[u] > most)
			return false;
	return true;
}

int assign_start(const struct assign_problem *problem, uint32_t parts, uint32_t slack,
		 bool recursive, uint64_t seed, uint32_t *at)
{
	typeof(METIS_PartGraphKway) *partition;
	idx_t options[METIS_NOPTIONS], tasks, constraints = 1, count, cut;
	struct csr c = { 0 };
	int err, status;

	if (!suits(problem, parts))
		return 0;
	err = csr_make(&c, problem, parts);
	if (err)
		goto done;
	METIS_SetDefaultOptions(options);
	options[METIS_OPTION_SEED] = (idx_t)(seed & INT32_MAX);
	options[METIS_OPTION_UFACTOR] = slack;
	partition = recursive || problem->tasks / parts < KWAY_EACH ? METIS_PartGraphRecursive
								    : METIS_PartGraphKway;
	tasks = c.tasks;
	count = c.parts;
	status = partition(&tasks, &constraints, c.start, c.to, c.work, NULL, c.volume, &count,
			   problem->machine ? c.shares : NULL, NULL, options, &cut, c.at);
	if (status == METIS_ERROR_MEMORY)
		err = -ENOMEM;
	for (uint32_t u = 0; u < problem->tasks && status == METIS_OK; u++)
		at[u] = c.at[u];
	if (status == METIS_OK)
		err = 1;

done:
	csr_free(&c);
	return err;
}
