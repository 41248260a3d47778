// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void dag_machine_free(struct dag_machine *m)
{
	if (!m)
		return;
	plan_names_free(m->names);
	free(m->speed);
	free(m->startup);
	free(m->link_at);
	free(m->links);
	free(m->routes.startup);
	free(m->routes.per_unit);
	free(m->routes.last);
	free(m);
}

void dag_machine_draft_end(struct dag_machine_draft *draft)
{
	plan_names_free(draft->names);
	free(draft->speed);
	free(draft->startup);
	free(draft->wires);
}

static int by_end(const void *a, const void *b)
{
	const struct dag_link *x = a, *y = b;

	return x->to < y->to ? -1 : x->to > y->to;
}

/* Both directions of each wire, by node and then by the other end. */
static int make_links(const struct dag_machine_draft *draft, struct dag_machine *m,
		      struct plan_refusal *refusal)
{
	m->link_at = calloc(m->nodes + 2, sizeof(*m->link_at));
	m->links = calloc((size_t)2 * draft->nwires + 1, sizeof(*m->links));
	if (!m->link_at || !m->links)
		return -ENOMEM;
	for (uint32_t i = 0; i < draft->nwires; i++) {
		m->link_at[draft->wires[i].a + 2]++;
		m->link_at[draft->wires[i].b + 2]++;
	}
	for (uint32_t i = 2; i <= m->nodes; i++)
		m->link_at[i] += m->link_at[i - 1];
	for (uint32_t i = 0; i < draft->nwires; i++) {
		const struct dag_wire *w = &draft->wires[i];

		m->links[m->link_at[w->a + 1]++] = (struct dag_link){ w->b, w->rate, w->startup };
		m->links[m->link_at[w->b + 1]++] = (struct dag_link){ w->a, w->rate, w->startup };
	}
	m->uniform = true;
	for (uint32_t i = 0; i < m->nodes; i++) {
		uint32_t at = m->link_at[i], end = m->link_at[i + 1];

		qsort(m->links + at, end - at, sizeof(*m->links), by_end);
		for (uint32_t l = at; l < end; l++) {
			m->uniform &= m->links[l].rate == m->links[0].rate &&
				      m->links[l].startup == m->links[0].startup;
			if (m->links[l].to == i)
				return plan_refuse(refusal, 0, NULL, "%.60s is linked to itself",
						   plan_names_text(m->names, i));
			if (l > at && m->links[l].to == m->links[l - 1].to)
				return plan_refuse(refusal, 0, NULL,
						   "%.60s and %.60s are linked twice",
						   plan_names_text(m->names, i),
						   plan_names_text(m->names, m->links[l].to));
		}
	}
	if (m->uniform && draft->nwires) {
		m->rate = m->links[0].rate;
		m->link_startup = m->links[0].startup;
		m->full = m->nodes == m->processors &&
			  draft->nwires == (uint64_t)m->nodes * (m->nodes - 1) / 2;
	}
	return 0;
}

static int check_reach(const struct dag_machine *m, struct plan_refusal *refusal)
{
	uint32_t *queue = malloc(m->nodes * sizeof(*queue)), read = 0, written = 1;
	bool *seen = calloc(m->nodes, sizeof(*seen));
	int err = queue && seen ? 0 : -ENOMEM;

	if (err)
		goto out;
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): there is a processor */
	queue[0] = 0;
	seen[0] = true;
	for (; read < written; read++)
		for (uint32_t l = m->link_at[queue[read]]; l < m->link_at[queue[read] + 1]; l++)
			if (!seen[m->links[l].to]) {
				seen[m->links[l].to] = true;
				queue[written++] = m->links[l].to;
			}
	for (uint32_t i = 0; i < m->processors && !err; i++)
		if (!seen[i])
			err = plan_refuse(refusal, 0, NULL, "no links lead from %.60s to %.60s",
					  plan_names_text(m->names, 0),
					  plan_names_text(m->names, i));
out:
	free(queue);
	free(seen);
	return err;
}

int dag_machine_make(struct dag_machine_draft *draft, struct dag_machine **out,
		     struct plan_refusal *refusal)
{
	struct dag_machine *m = calloc(1, sizeof(*m));
	int err = -ENOMEM;

	if (!m)
		return -ENOMEM;
	m->processors = draft->processors;
	m->nodes = plan_names_count(draft->names);
	m->names = draft->names;
	m->full = m->uniform = true;
	m->rate = draft->rate;
	m->link_startup = draft->link_startup;
	if (!draft->full) {
		m->full = false;
		err = make_links(draft, m, refusal);
		if (!err)
			err = check_reach(m, refusal);
		if (err)
			goto failed;
		m->full |= m->nodes == 1;
	}
	m->same = true;
	for (uint32_t i = 1; i < m->processors; i++)
		m->same &= draft->speed[i] == draft->speed[0] &&
			   draft->startup[i] == draft->startup[0];
	m->speed = draft->speed;
	m->startup = draft->startup;
	draft->names = NULL;
	draft->speed = draft->startup = NULL;
	*out = m;
	return 0;

failed:
	m->names = NULL; /* still the draft's */
	dag_machine_free(m);
	return err;
}

uint32_t dag_machine_links(const struct dag_machine *m)
{
	return m->full ? m->processors * m->processors : m->link_at[m->nodes];
}

static uint32_t find_link(const struct dag_machine *m, uint32_t from, uint32_t to)
{
	uint32_t low = m->link_at[from], high = m->link_at[from + 1];

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (m->links[middle].to < to)
			low = middle + 1;
		else
			high = middle;
	}
	return low < m->link_at[from + 1] && m->links[low].to == to ? low : UINT32_MAX;
}

uint32_t dag_machine_link_number(const struct dag_machine *m, uint32_t from, uint32_t to)
{
	return m->full ? from * m->processors + to : find_link(m, from, to);
}

const struct dag_link *dag_machine_link(const struct dag_machine *m, uint32_t from, uint32_t to,
					struct dag_link *buffer)
{
	uint32_t link;

	if (m->full) {
		*buffer = (struct dag_link){ to, m->rate, m->link_startup };
		return from != to && from < m->nodes && to < m->nodes ? buffer : NULL;
	}
	link = from < m->nodes ? find_link(m, from, to) : UINT32_MAX;
	return link == UINT32_MAX ? NULL : &m->links[link];
}
