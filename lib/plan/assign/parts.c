// SPDX-License-Identifier: GPL-2.0-or-later
#include "parts.h"

#include <stdlib.h>
#include <string.h>

struct assign_parts *assign_parts_new(const struct assign_problem *problem, uint32_t count)
{
	struct assign_parts *s = calloc(1, sizeof(*s));
	size_t tasks = problem->tasks;

	if (!s)
		return NULL;
	s->problem = problem;
	s->machine = problem->machine;
	s->count = count;
	s->steep = 1;
	s->weight = malloc(tasks * sizeof(*s->weight));
	s->f = calloc(count, sizeof(*s->f));
	s->room = calloc(count, sizeof(*s->room));
	s->volume = calloc(count, sizeof(*s->volume));
	s->touched = calloc(count, sizeof(*s->touched));
	s->locked = calloc(tasks, sizeof(*s->locked));
	s->list = malloc(tasks * sizeof(*s->list));
	s->trail = malloc(tasks * sizeof(*s->trail));
	s->trail_at = malloc(tasks * sizeof(*s->trail_at));
	if (!s->weight || !s->f || !s->room || !s->volume || !s->touched || !s->locked ||
	    !s->list || !s->trail || !s->trail_at) {
		assign_parts_free(s);
		return NULL;
	}
	for (uint32_t v = 0; v < tasks; v++) {
		s->weight[v] = problem->work[v];
		for (uint32_t e = problem->start[v]; e < problem->start[v + 1]; e++)
			s->weight[v] += problem->volume[e];
	}
	s->mean_weight = (problem->total_work + 2 * problem->total_volume) / tasks;
	return s;
}

void assign_parts_free(struct assign_parts *parts)
{
	if (!parts)
		return;
	free(parts->weight);
	free(parts->f);
	free(parts->room);
	free(parts->volume);
	free(parts->touched);
	free(parts->locked);
	free(parts->list);
	free(parts->trail);
	free(parts->trail_at);
	free(parts->heap);
	free(parts);
}

static inline double talk(const struct assign_parts *s, uint32_t k, uint32_t j)
{
	return s->machine->talk[(size_t)k * s->problem->processors + j];
}

void assign_parts_sum(struct assign_parts *s)
{
	const struct assign_problem *p = s->problem;

	memset(s->f, 0, s->count * sizeof(*s->f));
	for (uint32_t v = 0; v < p->tasks; v++) {
		uint32_t a = s->at[v];
		double f = s->machine ? s->machine->compute[a] * p->work[v] : p->work[v];

		for (uint32_t e = p->start[v]; e < p->start[v + 1]; e++) {
			uint32_t b = s->at[p->to[e]];

			if (b != a)
				f += s->machine ? talk(s, a, b) * p->volume[e] : p->volume[e];
		}
		s->f[a] += f;
	}
}

void assign_parts_set(struct assign_parts *parts, uint32_t *at)
{
	parts->at = at;
	assign_parts_sum(parts);
}

double assign_parts_most(const struct assign_parts *parts)
{
	double most = 0;

	for (uint32_t k = 0; k < parts->count; k++)
		if (parts->f[k] > most)
			most = parts->f[k];
	return most;
}

double assign_parts_mean(const struct assign_parts *parts)
{
	double sum = 0, weights = 0;

	for (uint32_t k = 0; k < parts->count; k++) {
		double weight = parts->machine ? 1 / parts->machine->compute[k] : 1;

		sum += weight * parts->f[k];
		weights += weight;
	}
	return sum / weights;
}

void assign_parts_limit(struct assign_parts *parts, double room)
{
	for (uint32_t k = 0; k < parts->count; k++)
		parts->room[k] = room;
}

void assign_parts_look(struct assign_parts *s, uint32_t v)
{
	const struct assign_problem *p = s->problem;

	s->ntouched = 0;
	s->looks += p->start[v + 1] - p->start[v] + 1;
	for (uint32_t e = p->start[v]; e < p->start[v + 1]; e++) {
		uint32_t b = s->at[p->to[e]];

		if (!p->volume[e])
			continue;
		if (!s->volume[b])
			s->touched[s->ntouched++] = b;
		s->volume[b] += p->volume[e];
	}
}

void assign_parts_forget(struct assign_parts *parts)
{
	for (uint32_t i = 0; i < parts->ntouched; i++)
		parts->volume[parts->touched[i]] = 0;
}

static inline double potential(const struct assign_parts *s, uint32_t k, double f)
{
	double over = f - s->room[k];

	return over > 0 ? f + s->steep * over * over : f;
}

/* f of part c after v has moved from a to b. */
static double after(const struct assign_parts *s, uint32_t v, uint32_t a, uint32_t b, uint32_t c)
{
	const struct assign_problem *p = s->problem;
	double f = s->f[c], sign = c == a ? -1 : 1;

	if (!s->machine)
		return f + sign * (s->weight[v] - 2 * s->volume[c]);
	if (c != a && c != b)
		return f + s->volume[c] * (talk(s, c, b) - talk(s, c, a));
	f += sign * s->machine->compute[c] * p->work[v];
	for (uint32_t i = 0; i < s->ntouched; i++)
		f += sign * talk(s, c, s->touched[i]) * s->volume[s->touched[i]];
	/* v now communicates with its neighbours on c from the other part, or no longer */
	return f - sign * s->volume[c] * talk(s, c, c == a ? b : a);
}

double assign_parts_gain(const struct assign_parts *s, uint32_t v, uint32_t b)
{
	uint32_t a = s->at[v];
	double gain = potential(s, a, s->f[a]) - potential(s, a, after(s, v, a, b, a)) +
		      potential(s, b, s->f[b]) - potential(s, b, after(s, v, a, b, b));

	for (uint32_t i = 0; s->machine && i < s->ntouched; i++) {
		uint32_t c = s->touched[i];

		if (c != a && c != b)
			gain += potential(s, c, s->f[c]) - potential(s, c, after(s, v, a, b, c));
	}
	return gain;
}

void assign_parts_move(struct assign_parts *s, uint32_t v, uint32_t b)
{
	uint32_t a = s->at[v];
	double fa = after(s, v, a, b, a), fb = after(s, v, a, b, b);

	for (uint32_t i = 0; s->machine && i < s->ntouched; i++) {
		uint32_t c = s->touched[i];

		if (c != a && c != b)
			s->f[c] = after(s, v, a, b, c);
	}
	s->f[a] = fa;
	s->f[b] = fb;
	s->at[v] = b;
}
