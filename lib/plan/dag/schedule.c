// SPDX-License-Identifier: GPL-2.0-or-later
#include "schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int dag_schedule_make(const struct dag_problem *p, struct dag_schedule *s)
{
	*s = (struct dag_schedule){ .tasks = p->tasks,
				    .processor = calloc(p->tasks, sizeof(*s->processor)),
				    .start = calloc(p->tasks, sizeof(*s->start)),
				    .finish = calloc(p->tasks, sizeof(*s->finish)),
				    .order = calloc(p->tasks, sizeof(*s->order)) };
	return s->processor && s->start && s->finish && s->order ? 0 : -ENOMEM;
}

void dag_schedule_end(struct dag_schedule *s)
{
	free(s->processor);
	free(s->start);
	free(s->finish);
	free(s->order);
}

void dag_schedule_copy(struct dag_schedule *to, const struct dag_schedule *from)
{
	memcpy(to->processor, from->processor, from->tasks * sizeof(*to->processor));
	memcpy(to->start, from->start, from->tasks * sizeof(*to->start));
	memcpy(to->finish, from->finish, from->tasks * sizeof(*to->finish));
	memcpy(to->order, from->order, from->tasks * sizeof(*to->order));
	to->makespan = from->makespan;
}

void dag_schedule_measure(struct dag_schedule *s)
{
	s->makespan = 0;
	for (uint32_t t = 0; t < s->tasks; t++)
		if (s->finish[t] > s->makespan)
			s->makespan = s->finish[t];
}

void dag_schedule_alone(const struct dag_problem *p, struct dag_schedule *s)
{
	double now = 0, all;
	uint32_t processor = dag_problem_fastest(p, &all);

	for (uint32_t t = 0; t < p->tasks; t++) {
		s->order[t] = t;
		s->processor[t] = processor;
		s->start[t] = now;
		now += dag_run_time(p, t, processor);
		s->finish[t] = now;
	}
	s->makespan = now;
}

void dag_messages_end(struct dag_messages *m)
{
	free(m->list);
	free(m->hops);
	*m = (struct dag_messages){ 0 };
}

int dag_messages_add(struct dag_messages *m, uint32_t from, uint32_t to)
{
	struct dag_message *more = plan_grow(m->list, sizeof(*more), m->count, &m->room);

	if (!more)
		return -ENOMEM;
	m->list = more;
	m->list[m->count++] = (struct dag_message){ from, to, m->nhops, 0 };
	return 0;
}

int dag_messages_hop(struct dag_messages *m, uint32_t node, double start, double finish)
{
	struct dag_hop *more = plan_grow(m->hops, sizeof(*more), m->nhops, &m->hops_room);

	if (!more)
		return -ENOMEM;
	m->hops = more;
	m->hops[m->nhops++] = (struct dag_hop){ node, start, finish };
	m->list[m->count - 1].hops++;
	return 0;
}

/* On the best route without waiting; `way` has room for it. */
static int add_hops(const struct dag_machine *m, uint32_t from, uint32_t to, double data,
		    double now, uint32_t *way, struct dag_messages *messages)
{
	uint32_t hops = dag_machine_way(m, from, to, data, way);
	double length = m->uniform ? data / m->rate + m->link_startup : 0;
	int err = 0;

	for (uint32_t h = 0; h < hops && !err; from = way[h++]) {
		if (!m->uniform) {
			const struct dag_link *link = dag_machine_link(m, from, way[h], NULL);

			length = data / link->rate + link->startup;
		}
		err = dag_messages_hop(messages, way[h], now, now + length);
		now += length;
	}
	return err;
}

int dag_messages_make(const struct dag_problem *p, const struct dag_schedule *s,
		      struct dag_messages *m)
{
	const struct dag_graph *g = p->graph;
	uint32_t *way = malloc(p->machine->nodes * sizeof(*way));
	int err = way ? 0 : -ENOMEM;

	for (uint32_t t = 0; t < p->tasks && !err; t++) {
		for (uint32_t i = g->out_at[t]; i < g->out_at[t + 1] && !err; i++) {
			uint32_t from = s->processor[t], to = s->processor[g->out[i].task];

			if (from == to)
				continue;
			err = dag_messages_add(m, t, g->out[i].task);
			if (!err)
				err = add_hops(p->machine, from, to, g->out[i].data, s->finish[t],
					       way, m);
		}
	}
	free(way);
	return err;
}
