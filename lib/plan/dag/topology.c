// SPDX-License-Identifier: GPL-2.0-or-later
/* Machines made from the name of a topology: equal processors, equal links. */
#include "machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eh/topology.h"

static int add_node(struct dag_machine_draft *draft, const char *name)
{
	int64_t number = plan_names_add(draft->names, name);

	return number < 0 ? (int)number : 0;
}

static void add_wire(struct dag_machine_draft *draft, uint32_t a, uint32_t b)
{
	draft->wires[draft->nwires++] =
		(struct dag_wire){ a, b, 0, draft->rate, draft->link_startup };
}

static int add_processors(struct dag_machine_draft *draft, uint32_t processors)
{
	char name[16];
	int err = 0;

	for (uint32_t i = 0; i < processors && !err; i++) {
		snprintf(name, sizeof(name), "p%u", i);
		err = add_node(draft, name);
	}
	return err;
}

static int make_room(struct dag_machine_draft *draft, uint32_t processors, size_t wires)
{
	draft->processors = processors;
	draft->speed = malloc(processors * sizeof(*draft->speed));
	draft->startup = calloc(processors, sizeof(*draft->startup));
	draft->wires = malloc((wires + 1) * sizeof(*draft->wires));
	if (!draft->speed || !draft->startup || !draft->wires)
		return -ENOMEM;
	for (uint32_t i = 0; i < processors; i++)
		draft->speed[i] = 1;
	return 0;
}

static int make_ring(struct dag_machine_draft *draft, uint32_t processors)
{
	int err = make_room(draft, processors, processors);

	if (!err)
		err = add_processors(draft, processors);
	for (uint32_t i = 0; i + 1 < processors && !err; i++)
		add_wire(draft, i, i + 1);
	if (!err && processors > 2)
		add_wire(draft, processors - 1, 0);
	return err;
}

static int make_hypercube(struct dag_machine_draft *draft, uint32_t processors)
{
	int err = make_room(draft, processors, (size_t)processors * 32);

	if (!err)
		err = add_processors(draft, processors);
	for (uint32_t i = 0; i < processors && !err; i++)
		for (uint32_t bit = 1; bit < processors; bit <<= 1)
			if (!(i & bit))
				add_wire(draft, i, i | bit);
	return err;
}

static int make_mesh(struct dag_machine_draft *draft, uint32_t rows, uint32_t columns)
{
	int err = make_room(draft, rows * columns, (size_t)2 * rows * columns);

	if (!err)
		err = add_processors(draft, rows * columns);
	for (uint32_t i = 0; i < rows * columns && !err; i++) {
		if (i % columns + 1 < columns)
			add_wire(draft, i, i + 1);
		if (i / columns + 1 < rows)
			add_wire(draft, i, i + columns);
	}
	return err;
}

/* Processing elements in the order of their codes, then the controllers of each level upwards. */
static int make_hierarchy(struct dag_machine_draft *draft, const struct eh_topology *t)
{
	uint32_t first = 0, count = 1u << (t->n * t->l);
	int err = make_room(draft, count, (size_t)(t->n + 2) * count);
	char name[EH_CODE_TEXT];

	for (unsigned int level = 0; level <= t->l && !err; level++) {
		for (uint32_t i = 0; i < count && !err; i++) {
			struct eh_code code = { level, i };

			err = add_node(draft, eh_code_format(t, code, name));
			if (level == t->l)
				continue;
			add_wire(draft, first + i, first + count + eh_code_parent(t, code).index);
			for (unsigned int bit = 0; bit < t->n; bit++)
				if (!(i & 1u << bit))
					add_wire(draft, first + i,
						 first + eh_code_neighbour(code, bit).index);
		}
		first += count;
		count >>= t->n;
	}
	return err;
}

static bool parse_mesh(const char *text, uint32_t *rows, uint32_t *columns)
{
	char end;

	return strspn(text, "0123456789x") == strlen(text) &&
	       sscanf(text, "%4ux%4u%c", rows, columns, &end) == 2 && *rows && *columns &&
	       *rows <= DAG_PROCESSORS_MAX / *columns;
}

static int wrong_number(struct plan_refusal *refusal, const char *topology, uint32_t has,
			uint32_t wanted)
{
	return plan_refuse(refusal, 0, NULL, "%s has %u processors, not %u", topology, has, wanted);
}

static int make_named(const char *topology, uint32_t processors, struct dag_machine_draft *draft,
		      struct plan_refusal *refusal)
{
	struct eh_topology eh;
	uint32_t rows, columns;
	int err;

	if (!strncmp(topology, "mesh:", 5) && parse_mesh(topology + 5, &rows, &columns)) {
		if (processors && processors != rows * columns)
			return wrong_number(refusal, topology, rows * columns, processors);
		return make_mesh(draft, rows, columns);
	}
	if (!strncmp(topology, "eh:", 3) && !eh_topology_parse(topology + 3, &eh)) {
		if (processors && processors != 1u << (eh.n * eh.l))
			return wrong_number(refusal, topology, 1u << (eh.n * eh.l), processors);
		/* larger ones could not be routed */
		if (eh.n * eh.l > 12)
			return plan_refuse(refusal, 0, NULL, "%s has more than 4096 processors",
					   topology);
		return make_hierarchy(draft, &eh);
	}
	if (!strcmp(topology, "full") || !strcmp(topology, "ring") ||
	    !strcmp(topology, "hypercube")) {
		if (!processors)
			return plan_refuse(refusal, 0, NULL,
					   "%s: the number of processors is missing", topology);
		if (*topology == 'h' && (processors & (processors - 1)))
			return plan_refuse(refusal, 0, NULL,
					   "a hypercube has a power of two of processors, not %u",
					   processors);
		if (*topology == 'r')
			return make_ring(draft, processors);
		if (*topology == 'h')
			return make_hypercube(draft, processors);
		draft->full = true;
		err = make_room(draft, processors, 0);
		return err ? err : add_processors(draft, processors);
	}
	return plan_refuse(refusal, 0, NULL,
			   "%.40s: no such topology: full, ring, hypercube, mesh:RxC or eh:n,l",
			   topology);
}

int dag_machine_topology(const char *topology, uint32_t processors, double rate, double startup,
			 struct dag_machine **out, struct plan_refusal *refusal)
{
	struct dag_machine_draft draft = { .rate = rate, .link_startup = startup };
	int err = -ENOMEM;

	draft.names = plan_names_new();
	if (draft.names)
		err = make_named(topology, processors, &draft, refusal);
	if (!err)
		err = dag_machine_make(&draft, out, refusal);
	dag_machine_draft_end(&draft);
	return err;
}
