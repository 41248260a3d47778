// SPDX-License-Identifier: GPL-2.0-or-later
/* Lower bounds on the cost of a plan. */
#include "assign.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* For rounding in sums that are not of whole numbers. */
#define ROUNDING 1e-11

/* Tasks times neighbours, up to which there is a minimum cut for each task. */
#define CUTS_MOST 4000000u

struct factors {
	double speed; /* sum of 1/compute: work that fits into a unit of cost */
	double compute; /* least */
	double talk; /* least between two processors */
};

static struct factors least_factors(const struct assign_problem *p)
{
	struct factors f = { 0, INFINITY, INFINITY };

	if (!p->machine)
		return (struct factors){ p->processors, 1, 1 };
	for (uint32_t k = 0; k < p->processors; k++) {
		f.speed += 1 / p->machine->compute[k];
		f.compute = fmin(f.compute, p->machine->compute[k]);
		for (uint32_t j = 0; j < p->processors; j++)
			if (j != k)
				f.talk = fmin(f.talk,
					      p->machine->talk[(size_t)k * p->processors + j]);
	}
	return f;
}

/* Each neighbour of u is on the processor of u, or communicates with it from elsewhere. */
static double around(const struct assign_problem *p, const struct factors *f, uint32_t u)
{
	double sum = f->compute * p->work[u];

	for (uint32_t e = p->start[u]; e < p->start[u + 1]; e++)
		sum += fmin(f->compute * p->work[p->to[e]], f->talk * p->volume[e]);
	return sum;
}

/* ---- minimum cuts ---- */

/*
 * The processor of u has some set S of tasks that contains u, and costs at least their work and the
 * volume that leaves S. The minimum over all S is a minimum cut: u is the source, and an edge leads
 * from each task to the sink with the task's work as its capacity.
 */
struct flow {
	const struct assign_problem *p;
	const struct factors *f;
	double *left; /* beside problem->to: capacity that is left */
	double *out; /* of each task: capacity to the sink that is left */
	uint32_t *back; /* of each edge: the same pair from its other end */
	uint32_t *level, *next, *queue;
};

#define FAR UINT32_MAX

/* Distances from the source; whether the sink can be reached. */
static bool levels(struct flow *w, uint32_t source)
{
	const struct assign_problem *p = w->p;
	uint32_t head = 0, tail = 0;
	bool reached = false;

	for (uint32_t u = 0; u < p->tasks; u++) {
		w->level[u] = FAR;
		w->next[u] = p->start[u];
	}
	w->level[source] = 0;
	w->queue[tail++] = source;
	while (head < tail) {
		uint32_t u = w->queue[head++];

		reached |= w->out[u] > 0;
		for (uint32_t e = p->start[u]; e < p->start[u + 1]; e++) {
			if (w->left[e] <= 0 || w->level[p->to[e]] != FAR)
				continue;
			w->level[p->to[e]] = w->level[u] + 1;
			w->queue[tail++] = p->to[e];
		}
	}
	return reached;
}

/* One path to the sink (Dinic), edge by edge in w->queue; returns the flow along it. */
static double augment(struct flow *w, uint32_t source)
{
	const struct assign_problem *p = w->p;
	uint32_t depth = 0, u = source;
	double most;

	while (w->out[u] <= 0) {
		uint32_t e = w->next[u];

		if (e == p->start[u + 1]) { /* a dead end */
			if (!depth)
				return 0;
			u = p->to[w->back[w->queue[--depth]]];
			w->next[u]++;
		} else if (w->left[e] > 0 && w->level[p->to[e]] == w->level[u] + 1) {
			w->queue[depth++] = e;
			u = p->to[e];
		} else {
			w->next[u]++;
		}
	}
	most = w->out[u];
	for (uint32_t i = 0; i < depth; i++)
		most = fmin(most, w->left[w->queue[i]]);
	w->out[u] -= most;
	for (uint32_t i = 0; i < depth; i++) {
		w->left[w->queue[i]] -= most;
		w->left[w->back[w->queue[i]]] += most;
	}
	return most;
}

static double least_cut(struct flow *w, uint32_t source)
{
	const struct assign_problem *p = w->p;
	double sum = w->f->compute * p->work[source], more;

	for (uint32_t u = 0; u < p->tasks; u++)
		w->out[u] = u == source ? 0 : w->f->compute * p->work[u];
	for (uint32_t e = 0; e < p->start[p->tasks]; e++)
		w->left[e] = w->f->talk * p->volume[e];
	while (levels(w, source))
		while ((more = augment(w, source)) > 0)
			sum += more;
	return sum;
}

static int bound_by_cuts(const struct assign_problem *p, const struct factors *f, double *most)
{
	uint32_t edges = p->start[p->tasks], *next;
	struct flow w = {
		.p = p,
		.f = f,
		.left = calloc((size_t)edges + 1, sizeof(*w.left)),
		.out = calloc(p->tasks, sizeof(*w.out)),
		.back = calloc((size_t)edges + 1, sizeof(*w.back)),
		.level = calloc(p->tasks, sizeof(*w.level)),
		.next = next = calloc(p->tasks, sizeof(*w.next)),
		.queue = calloc(p->tasks, sizeof(*w.queue)),
	};
	int err = -ENOMEM;

	if (!w.left || !w.out || !w.back || !w.level || !w.next || !w.queue)
		goto done;
	for (uint32_t u = 0; u < p->tasks; u++)
		next[u] = p->start[u];
	/* rows ascend: seen from the others, those to u come in the order of its row */
	for (uint32_t u = 0; u < p->tasks; u++)
		for (uint32_t e = p->start[u]; e < p->start[u + 1]; e++)
			w.back[e] = next[p->to[e]]++;
	for (uint32_t u = 0; u < p->tasks; u++)
		*most = fmax(*most, least_cut(&w, u));
	err = 0;

done:
	free(w.left);
	free(w.out);
	free(w.back);
	free(w.level);
	free(w.next);
	free(w.queue);
	return err;
}

int assign_bound(const struct assign_problem *problem, double *bound)
{
	struct factors f = least_factors(problem);
	double most = problem->total_work / f.speed;

	if (problem->processors == 1) {
		*bound = f.compute * problem->total_work;
		return 0;
	}
	for (uint32_t u = 0; u < problem->tasks; u++)
		most = fmax(most, around(problem, &f, u));
	if ((uint64_t)problem->tasks * problem->start[problem->tasks] <= CUTS_MOST) {
		int err = bound_by_cuts(problem, &f, &most);

		if (err)
			return err;
	}
	*bound = problem->machine ? most * (1 - ROUNDING) : ceil(most);
	return 0;
}
