// SPDX-License-Identifier: GPL-2.0-or-later
/* METIS graphs: one line per task with its neighbours and, as the header says, with weights.
 * Reading must be fast, because there may be millions of lines. */
#include "assign.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "problem.h"

#define HALF_EDGES_MAX UINT32_MAX
#define WEIGHT_MAX ((uint64_t)1 << 53)

struct reader {
	const char *at, *end;
	size_t line;
	struct plan_refusal *refusal;
};

bool assign_is_metis(const char *text, size_t length)
{
	size_t i = 0;

	while (i < length && strchr(" \t\r\n", text[i]) && text[i])
		i++;
	return i < length && (text[i] == '%' || (text[i] >= '0' && text[i] <= '9'));
}

static void skip_blanks(struct reader *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r'))
		r->at++;
}

/* Goes to the next line that is not a comment; false at the end. */
static bool next_line(struct reader *r)
{
	while (r->at < r->end && *r->at == '%') {
		const char *newline = memchr(r->at, '\n', r->end - r->at);

		r->at = newline ? newline + 1 : r->end;
		r->line++;
	}
	return r->at < r->end;
}

static bool line_over(struct reader *r)
{
	skip_blanks(r);
	return r->at == r->end || *r->at == '\n';
}

static void end_line(struct reader *r)
{
	r->at += r->at < r->end;
	r->line++;
}

/* A whole number up to `most`. */
static int number(struct reader *r, const char *what, uint64_t most, uint64_t *out)
{
	const char *from = r->at;
	uint64_t n = 0;

	for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
		n = n * 10 + (*r->at - '0');
		if (n > most)
			return plan_refuse(r->refusal, r->line, NULL, "%s is above %llu", what,
					   (unsigned long long)most);
	}
	if (from == r->at)
		return plan_refuse(r->refusal, r->line, NULL,
				   line_over(r) ? "%s is missing"
						: "%s: a whole number, 0 or more, is needed",
				   what);
	if (r->at < r->end && *r->at != ' ' && *r->at != '\t' && *r->at != '\r' && *r->at != '\n')
		return plan_refuse(r->refusal, r->line, NULL,
				   "%s: a whole number, 0 or more, is needed", what);
	*out = n;
	return 0;
}

struct header {
	uint64_t tasks, edges, format, weights;
	size_t line;
};

static int read_header(struct reader *r, struct header *h)
{
	int err;

	h->weights = 1;
	if (!next_line(r) || line_over(r))
		return plan_refuse(r->refusal, r->line, NULL,
				   "a METIS graph begins with the numbers of vertices and edges");
	h->line = r->line;
	err = number(r, "the number of vertices", ASSIGN_TASKS_MAX, &h->tasks);
	if (!err && !line_over(r))
		err = number(r, "the number of edges", HALF_EDGES_MAX / 2, &h->edges);
	else if (!err)
		err = plan_refuse(r->refusal, r->line, NULL, "the number of edges is missing");
	if (!err && !line_over(r))
		err = number(r, "the format", 111, &h->format);
	if (!err && !line_over(r))
		err = number(r, "the number of weights", UINT32_MAX, &h->weights);
	if (err)
		return err;
	if (h->format % 10 > 1 || h->format / 10 % 10 > 1)
		return plan_refuse(r->refusal, r->line, NULL,
				   "the format has three digits, each 0 or 1");
	if (h->weights != 1 && h->format / 10 % 10)
		return plan_refuse(r->refusal, r->line, NULL,
				   "a task has one weight here, not %llu",
				   (unsigned long long)h->weights);
	if (!line_over(r))
		return plan_refuse(r->refusal, r->line, NULL, "unexpected text after the header");
	if (!h->tasks)
		return plan_refuse(r->refusal, r->line, NULL, "there is no task");
	end_line(r);
	return 0;
}

/* Reads one line; its neighbours are appended. */
static int read_vertex(struct reader *r, const struct header *h,
		       const struct assign_defaults *defaults, struct assign_problem *p, uint32_t u)
{
	double volume = defaults->volume >= 0 ? defaults->volume : 1;
	uint32_t at = p->start[u];
	uint64_t value;
	int err;

	p->work[u] = defaults->work >= 0 ? defaults->work : 1;
	if (h->format / 100) { /* a size, which is for a different objective */
		skip_blanks(r);
		err = number(r, "the vertex size", WEIGHT_MAX, &value);
		if (err)
			return err;
	}
	if (h->format / 10 % 10) {
		skip_blanks(r);
		err = number(r, "the vertex weight", WEIGHT_MAX, &value);
		if (err)
			return err;
		p->work[u] = value;
	}
	while (!line_over(r)) {
		err = number(r, "a neighbour", UINT32_MAX, &value);
		if (err)
			return err;
		if (!value || value > h->tasks)
			return plan_refuse(r->refusal, r->line, NULL,
					   "neighbour %llu is not from 1 to %llu",
					   (unsigned long long)value, (unsigned long long)h->tasks);
		if (value == u + 1u)
			return plan_refuse(r->refusal, r->line, NULL,
					   "vertex %u is its own neighbour", u + 1);
		if (at == 2 * h->edges)
			return plan_refuse(r->refusal, r->line, NULL,
					   "more neighbours than twice the %llu edges of line %zu",
					   (unsigned long long)h->edges, h->line);
		p->to[at] = value - 1;
		if (h->format % 10) {
			skip_blanks(r);
			err = number(r, "the edge weight", WEIGHT_MAX, &value);
			if (err)
				return err;
			volume = value;
		}
		p->volume[at++] = volume;
	}
	p->start[u + 1] = at;
	end_line(r);
	return 0;
}

static int read_vertices(struct reader *r, const struct header *h,
			 const struct assign_defaults *defaults, struct assign_problem *p,
			 uint32_t *lines)
{
	int err;

	for (uint32_t u = 0; u < h->tasks; u++) {
		/* the last line may be empty and have no line end */
		if (!next_line(r) && u + 1 < h->tasks)
			return plan_refuse(r->refusal, r->line, NULL,
					   "the text ends before vertex %u of %llu", u + 1,
					   (unsigned long long)h->tasks);
		lines[u] = r->line;
		err = read_vertex(r, h, defaults, p, u);
		if (err)
			return err;
	}
	while (next_line(r)) {
		if (!line_over(r))
			return plan_refuse(r->refusal, r->line, NULL,
					   "a line more than the %llu vertices of line %zu",
					   (unsigned long long)h->tasks, h->line);
		end_line(r);
	}
	if (p->start[h->tasks] != 2 * h->edges)
		return plan_refuse(r->refusal, h->line, NULL,
				   "the header has %llu edges, but half of %u neighbours follow",
				   (unsigned long long)h->edges, p->start[h->tasks]);
	return 0;
}

/* Compares the line of u with the other lines that name u, and keeps the latter, which ascend. */
static int compare(const struct assign_problem *p, uint32_t u, const uint32_t *to,
		   const double *volume, uint32_t count, uint32_t *seen, const uint32_t *lines,
		   struct plan_refusal *refusal)
{
	/* seen[v]: the place of v on u's line, +1; places differ from line to line */
	for (uint32_t e = p->start[u]; e < p->start[u + 1]; e++) {
		uint32_t v = p->to[e];

		if (seen[v] > p->start[u])
			return plan_refuse(refusal, lines[u], NULL, "neighbour %u is listed twice",
					   v + 1);
		seen[v] = e + 1;
	}
	for (uint32_t i = 0; i < count; i++) {
		/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.ArraySubscript): the first `count` are filled */
		uint32_t place = seen[to[i]];

		if (place <= p->start[u])
			return plan_refuse(refusal, lines[u], NULL,
					   "neighbour %u is missing: vertex %u has %u on line %u",
					   to[i] + 1, to[i] + 1, u + 1, lines[to[i]]);
		if (p->volume[place - 1] != volume[i])
			return plan_refuse(refusal, lines[u], NULL,
					   "the edge to %u weighs %.17g here and %.17g on line %u",
					   to[i] + 1, p->volume[place - 1], volume[i],
					   lines[to[i]]);
	}
	return 0;
}

/* Each edge must be there from both ends, once, with one weight. */
static int transpose(struct assign_problem *p, const uint32_t *lines, struct plan_refusal *refusal)
{
	uint32_t edges = p->start[p->tasks], *to = malloc((edges + 1) * sizeof(*to));
	double *volume = malloc((edges + 1) * sizeof(*volume));
	uint32_t *next = calloc((size_t)p->tasks + 1, sizeof(*next));
	uint32_t *seen = calloc(p->tasks, sizeof(*seen));
	int err = -ENOMEM;

	if (!to || !volume || !next || !seen)
		goto done;
	memcpy(next, p->start, p->tasks * sizeof(*next));
	for (uint32_t u = 0; u < p->tasks; u++) {
		for (uint32_t e = p->start[u]; e < p->start[u + 1]; e++) {
			uint32_t v = p->to[e];

			if (next[v] == p->start[v + 1]) {
				/* the line of v is too short for all that name v */
				err = plan_refuse(
					refusal, lines[v], NULL,
					"neighbour %u is missing, or another that has %u: "
					"an edge is on the lines of both its ends",
					u + 1, v + 1);
				goto done;
			}
			to[next[v]] = u;
			volume[next[v]++] = p->volume[e];
		}
	}
	err = 0;
	for (uint32_t u = 0; u < p->tasks && !err; u++)
		err = compare(p, u, to + p->start[u], volume + p->start[u], next[u] - p->start[u],
			      seen, lines, refusal);
	if (err)
		goto done;
	free(p->to);
	free(p->volume);
	p->to = to;
	p->volume = volume;
	to = NULL;
	volume = NULL;

done:
	free(to);
	free(volume);
	free(next);
	free(seen);
	return err;
}

int assign_read_metis(const char *text, size_t length, const struct assign_defaults *defaults,
		      struct assign_problem **out, struct plan_refusal *refusal)
{
	struct reader r = { text, text + length, 1, refusal };
	struct assign_problem *p = calloc(1, sizeof(*p));
	uint32_t *lines = NULL;
	struct header h = { 0 };
	int err;

	if (!p)
		return -ENOMEM;
	err = read_header(&r, &h);
	if (err)
		goto failed;
	/* each vertex has a line and each neighbour two bytes, so a short text cannot ask for much
	 * memory in its header */
	if (h.tasks > length || h.edges > length / 4) {
		err = plan_refuse(refusal, h.line, NULL,
				  "the text is too short for %llu vertices "
				  "and %llu edges",
				  (unsigned long long)h.tasks, (unsigned long long)h.edges);
		goto failed;
	}
	if (!defaults->processors) {
		err = plan_refuse(refusal, 0, NULL,
				  "a METIS graph says nothing of processors; "
				  "give their number (--processors P)");
		goto failed;
	}
	p->tasks = h.tasks;
	p->processors = defaults->processors;
	p->start = calloc(h.tasks + 1, sizeof(*p->start));
	p->work = calloc(h.tasks, sizeof(*p->work));
	p->to = malloc((2 * h.edges + 1) * sizeof(*p->to));
	p->volume = malloc((2 * h.edges + 1) * sizeof(*p->volume));
	lines = calloc(h.tasks, sizeof(*lines));
	err = -ENOMEM;
	if (!p->start || !p->work || !p->to || !p->volume || !lines)
		goto failed;
	err = read_vertices(&r, &h, defaults, p, lines);
	if (!err)
		err = transpose(p, lines, refusal);
	if (err)
		goto failed;
	assign_settle(p);
	free(lines);
	*out = p;
	return 0;

failed:
	free(lines);
	assign_free(p);
	return err;
}
