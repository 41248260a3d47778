/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file machine.h
 * The target machine of paper 3, section 2.2: processors with speeds S and process start-up B,
 * joined by links with rate R and message start-up I. Between its ends a link carries one message
 * at a time in each direction. Relays only pass messages on: the controllers of EH(n,l).
 */
#ifndef PLAN_DAG_MACHINE_H
#define PLAN_DAG_MACHINE_H

#include "plan/names.h"
#include "plan/plan.h"

#define DAG_PROCESSORS_MAX 1000000u
#define DAG_ROUTES_MAX 20000000u /**< processors x nodes x tables, of routes that are kept */
#define DAG_NO_NODE UINT32_MAX

/** One direction of a link. */
struct dag_link {
	uint32_t to;
	double rate, startup;
};

/**
 * The best routes from processors (rows) to nodes: a message of d units takes startup + d *
 * per_unit. Apart from each other, because loops over a row read the two sums only.
 */
struct dag_routes {
	double *startup, *per_unit;
	uint32_t *last; /**< the node before it on the route */
};

struct dag_machine {
	uint32_t processors, nodes; /**< numbers 0..processors-1, then relays */
	double *speed, *startup; /**< of processors */
	struct plan_names *names; /**< of nodes */
	bool same; /**< all processors are alike */
	/** Each pair of processors has a link of its own, all are alike, and there is no relay. */
	bool full;
	bool uniform; /**< all links are alike */
	double rate, link_startup; /**< of all, when uniform */
	uint32_t *link_at; /**< nodes + 1; NULL when full */
	struct dag_link *links; /**< by `to` */
	struct dag_routes routes; /**< tables x processors x nodes, made by dag_machine_route() */
	unsigned int tables;
};

/** A link between two nodes, both directions, as readers have it. */
struct dag_wire {
	uint32_t a, b, place;
	double rate, startup;
};

struct dag_machine_draft {
	struct plan_names *names; /**< processors first */
	uint32_t processors;
	double *speed, *startup;
	struct dag_wire *wires;
	uint32_t nwires;
	bool full; /**< no wires: a link of these for each pair */
	double rate, link_startup;
};

/** Takes names, speed and startup from the draft when it succeeds. Refuses duplicate links,
 *  links from a node to itself and processors that cannot reach each other. */
int dag_machine_make(struct dag_machine_draft *draft, struct dag_machine **out,
		     struct plan_refusal *refusal);
void dag_machine_draft_end(struct dag_machine_draft *draft);
void dag_machine_free(struct dag_machine *machine);

/** Makes "full", "ring", "hypercube", "mesh:RxC" or "eh:n,l" of equal processors; `processors` may
 *  be 0 if the topology has a number. 0, -ENOMEM, or -EINVAL with the refusal. */
int dag_machine_topology(const char *topology, uint32_t processors, double rate, double startup,
			 struct dag_machine **out, struct plan_refusal *refusal);

/** Reads a JSON document {"processors":[…],"relays":[…],"links":[…]} or a SimGrid platform (XML).
 *  `rate` and `startup` are those of links that have none. 0, -ENOMEM, or -EINVAL with the
 *  refusal. */
int dag_machine_read(const char *text, size_t length, double rate, double startup,
		     struct dag_machine **out, struct plan_refusal *refusal);
int dag_platform_read(const char *text, size_t length, struct dag_machine **out,
		      struct plan_refusal *refusal);

/**
 * Finds and keeps the best routes between all processors, for messages of the smallest, the mean
 * and the largest size: a route that is best for both ends of a range is best within it. 0,
 * -ENOMEM, or -EINVAL: there are too many processors.
 */
int dag_machine_route(struct dag_machine *machine, double smallest, double mean, double largest,
		      struct plan_refusal *refusal);

/** The link between neighbours, or NULL. Of a full machine: `buffer`, filled in. */
const struct dag_link *dag_machine_link(const struct dag_machine *machine, uint32_t from,
					uint32_t to, struct dag_link *buffer);

/** The number of the link between two neighbours, below dag_machine_links(), for tables of
 *  links. */
uint32_t dag_machine_link_number(const struct dag_machine *machine, uint32_t from, uint32_t to);
uint32_t dag_machine_links(const struct dag_machine *machine);

/** Puts the nodes after `from` on the route of `data` units to `to` into `out` (at most
 *  machine->nodes). Returns their number. */
uint32_t dag_machine_way(const struct dag_machine *machine, uint32_t from, uint32_t to, double data,
			 uint32_t *out);

/** The time to `to` without waiting: the sum of d/R + I over the links (paper 3, section 2.3). */
static inline double dag_machine_transfer(const struct dag_machine *m, uint32_t from, uint32_t to,
					  double data)
{
	size_t table = (size_t)m->processors * m->nodes, at = (size_t)from * m->nodes + to;
	double best;

	if (from == to)
		return 0;
	if (m->full)
		return data / m->rate + m->link_startup;
	best = m->routes.startup[at] + data * m->routes.per_unit[at];
	for (unsigned int i = 1; i < m->tables; i++) {
		double other;

		at += table;
		other = m->routes.startup[at] + data * m->routes.per_unit[at];
		best = other < best ? other : best;
	}
	return best;
}

#endif
