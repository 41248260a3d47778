// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The part of the Graphviz language that task graphs use: directed graphs with node and edge
 * statements, attribute lists, default attributes, chains a -> b -> c, and subgraphs as groups.
 */
#include "read.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "wire/clean.h"

#define DEPTH_MAX 64

enum token { T_END, T_ID, T_ARROW, T_LINE, T_WRONG, T_MARK /* its character is in .mark */ };

struct dot {
	const char *at, *end;
	uint32_t line;
	enum token token;
	char mark;
	char *text; /* of T_ID, length bytes */
	size_t length, room;
	bool quoted;

	struct dag_draft *draft;
	struct plan_refusal *refusal;
	struct dot_task {
		uint32_t line;
		bool weighed; /* its Weight is known */
	} * seen; /* by task */
	size_t seen_room;
	double node_weight, edge_weight; /* defaults; negative: none */
	unsigned int depth;

	bool strict; /* an edge that is named again is the same one */
	struct plan_names *pairs; /* of a strict graph: "FROM TO" of each edge, in their order */
	struct dot_end {
		uint32_t task, line;
	} * chain; /* of the edges that are being read */
	size_t chain_room;
};

static int refuse(struct dot *d, const char *format, ...)
{
	char what[sizeof(d->refusal->what)];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return plan_refuse(d->refusal, d->line, NULL, "%s", what);
}

static void skip_blanks(struct dot *d)
{
	while (d->at < d->end) {
		if (*d->at == '\n') {
			d->line++;
			d->at++;
		} else if (*d->at == ' ' || (*d->at >= '\t' && *d->at <= '\r')) {
			d->at++;
		} else if (*d->at == '#' || (d->at[0] == '/' && d->at[1] == '/')) {
			while (d->at < d->end && *d->at != '\n')
				d->at++;
		} else if (d->at[0] == '/' && d->at[1] == '*') {
			for (d->at += 2; d->at < d->end && (d->at[0] != '*' || d->at[1] != '/');
			     d->at++)
				d->line += *d->at == '\n';
			d->at = d->at < d->end ? d->at + 2 : d->end;
		} else {
			return;
		}
	}
}

static int add_character(struct dot *d, char c)
{
	char *text = plan_grow(d->text, 1, d->length + 1, &d->room);

	if (!text)
		return -ENOMEM;
	d->text = text;
	d->text[d->length++] = c;
	d->text[d->length] = '\0';
	return 0;
}

/* Starts after the opening quote and takes the closing one too. */
static int take_quoted(struct dot *d)
{
	int err = 0;

	for (; d->at < d->end && *d->at != '"' && !err; d->at++) {
		const char escaped = *d->at == '\\' ? d->at[1] : '\0';

		if (escaped == '\n') {
			d->at++;
			d->line++;
			continue;
		}
		/* It goes before a quote, else it stays; the second of two is before nothing. */
		if (escaped == '\\')
			err = add_character(d, *d->at++);
		else if (escaped == '"')
			d->at++;
		d->line += *d->at == '\n';
		if (!err)
			err = add_character(d, *d->at);
	}
	if (!err && d->at == d->end)
		err = refuse(d, "a string has no end");
	d->at++;
	return err;
}

static bool in_id(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || (c & 0x80);
}

/* An HTML string is not an id of a task; it is taken as one word. */
static int take_html(struct dot *d)
{
	unsigned int open = 0;
	int err = 0;

	do {
		open += *d->at == '<';
		open -= *d->at == '>';
		d->line += *d->at == '\n';
		err = add_character(d, *d->at++);
	} while (!err && open && d->at < d->end);
	return err || !open ? err : refuse(d, "HTML has no end");
}

static int next(struct dot *d)
{
	int err = 0;

	skip_blanks(d);
	d->length = 0;
	d->quoted = false;
	d->mark = 0;
	if (d->at >= d->end) {
		d->token = T_END;
		return 0;
	}
	d->token = T_ID;
	if (*d->at == '"') {
		d->quoted = true;
		err = add_character(d, ' ');
		d->length = 0;
		for (bool more = true; more && !err;) {
			const char *before;
			uint32_t line;

			d->at++;
			err = take_quoted(d);
			/* "a" + "b" is one string */
			before = d->at;
			line = d->line;
			more = false;
			if (err)
				break;
			skip_blanks(d);
			if (d->at < d->end && *d->at == '+') {
				d->at++;
				skip_blanks(d);
				more = d->at < d->end && *d->at == '"';
				if (!more)
					err = refuse(d, "a string is needed behind +");
			} else {
				d->at = before;
				d->line = line;
			}
		}
		if (!d->length && d->text)
			d->text[0] = '\0';
		return err;
	}
	if (*d->at == '<')
		return take_html(d);
	if (d->at[0] == '-' && (d->at[1] == '>' || d->at[1] == '-')) {
		d->token = d->at[1] == '>' ? T_ARROW : T_LINE;
		d->at += 2;
		return 0;
	}
	if (in_id(*d->at) || *d->at == '-') {
		do {
			err = add_character(d, *d->at++);
		} while (!err && d->at < d->end && in_id(*d->at));
		return err;
	}
	d->token = strchr("{}[];,=:", *d->at) ? T_MARK : T_WRONG;
	d->mark = *d->at++;
	return 0;
}

static bool is(const struct dot *d, char mark)
{
	return d->token == T_MARK && d->mark == mark;
}

static bool is_word(const struct dot *d, const char *word)
{
	return d->token == T_ID && !d->quoted && !strcasecmp(d->text, word);
}

static int unexpected(struct dot *d, const char *wanted)
{
	if (d->token == T_END)
		return refuse(d, "the file ends where %s is needed", wanted);
	if (d->token == T_LINE)
		return refuse(d, "-- has no direction: an edge of a task graph is ->");
	if (d->token == T_ID)
		return refuse(d, "\"%.60s\" where %s is needed", d->text, wanted);
	if (d->token == T_ARROW)
		return refuse(d, "-> where %s is needed", wanted);
	return refuse(d, "'%c' where %s is needed", d->mark, wanted);
}

/* TargetSystem="Homogeneous-P" */
static int take_target(struct dot *d)
{
	const char *text = d->text, *end;
	double processors;

	if (strncmp(text, "Homogeneous-", 12))
		return refuse(d, "TargetSystem \"%.60s\" is not known, only Homogeneous-P", text);
	end = dag_number(text + 12, text + strlen(text), 1e6, &processors);
	if (!end || *end || processors < 1 || processors != (uint32_t)processors)
		return refuse(d, "TargetSystem \"%.60s\": P is a number of processors from 1",
			      text);
	d->draft->processors = processors;
	return 0;
}

static int take_attribute(struct dot *d, const char *name, bool of_graph, double *weight)
{
	const char *end;

	if (of_graph && !strcmp(name, "TargetSystem"))
		return take_target(d);
	if (of_graph || strcmp(name, "Weight"))
		return 0;
	end = dag_number(d->text, d->text + d->length, DAG_NUMBER_MAX, weight);
	if (!end || *end)
		return refuse(d, "Weight \"%.60s\" is not a number from 0 to %g", d->text,
			      DAG_NUMBER_MAX);
	return 0;
}

/* name = value, at the name; *weight is set if it is a weight. */
static int take_assignment(struct dot *d, bool of_graph, double *weight)
{
	char name[32];
	int err;

	snprintf(name, sizeof(name), "%s", d->length < sizeof(name) ? d->text : "");
	err = next(d);
	if (!err && !is(d, '='))
		return unexpected(d, "=");
	err = err ? err : next(d);
	if (!err && d->token != T_ID)
		return unexpected(d, "a value");
	if (!err)
		err = take_attribute(d, name, of_graph, weight);
	return err ? err : next(d);
}

/* Any number of [a=b, …]. */
static int take_attributes(struct dot *d, bool of_graph, double *weight)
{
	int err = 0;

	while (is(d, '[') && !err) {
		err = next(d);
		while (!err && !is(d, ']')) {
			if (d->token != T_ID)
				return unexpected(d, "an attribute");
			err = take_assignment(d, of_graph, weight);
			if (!err && (is(d, ',') || is(d, ';')))
				err = next(d);
		}
		err = err ? err : next(d);
	}
	return err;
}

/* The task with this name; it is added if it is new. */
static int64_t take_task(struct dot *d)
{
	struct dot_task *seen;
	int64_t number = plan_names_find(d->draft->names, d->text);

	if (number >= 0)
		return number;
	if (!d->length || d->text[0] == '<')
		return refuse(d, "a task's id is %s", d->length ? "HTML" : "empty");
	if (!clean_is(d->text))
		return refuse(d, "a task's id has a control character");
	number = dag_draft_task(d->draft, d->text, 0);
	if (number == -E2BIG)
		return refuse(d, "more than %u tasks", DAG_TASKS_MAX);
	if (number < 0)
		return number;
	seen = plan_grow(d->seen, sizeof(*seen), number, &d->seen_room);
	if (!seen)
		return -ENOMEM;
	d->seen = seen;
	d->seen[number] = (struct dot_task){ d->line, d->node_weight >= 0 };
	if (d->node_weight >= 0)
		d->draft->work[number] = d->node_weight;
	return number;
}

/* a, a:port or a:port:compass */
static int64_t take_end(struct dot *d)
{
	int64_t number;
	int err = 0;

	if (is(d, '{') || is_word(d, "subgraph"))
		return refuse(d, "an edge ends at a subgraph");
	if (d->token != T_ID)
		return unexpected(d, "a task");
	number = take_task(d);
	if (number < 0)
		return number;
	err = next(d);
	while (!err && is(d, ':')) {
		err = next(d);
		if (!err && d->token != T_ID)
			return unexpected(d, "a port");
		err = err ? err : next(d);
	}
	return err ? err : number;
}

static int add_to_chain(struct dot *d, uint32_t n, uint32_t task)
{
	struct dot_end *chain = plan_grow(d->chain, sizeof(*chain), n, &d->chain_room);

	if (!chain)
		return -ENOMEM;
	d->chain = chain;
	d->chain[n] = (struct dot_end){ task, d->line };
	return 0;
}

/* The edge, if a strict graph has it already; else -ENOENT, and it is the next one. Or -ENOMEM. */
static int64_t find_edge(struct dot *d, uint32_t from, uint32_t to)
{
	char pair[24];
	int64_t number;

	if (!d->strict)
		return -ENOENT;
	snprintf(pair, sizeof(pair), "%u %u", from, to);
	number = plan_names_find(d->pairs, pair);
	if (number >= 0)
		return number;
	number = plan_names_add(d->pairs, pair);
	return number < 0 ? number : -ENOENT;
}

/* As in Graphviz: an edge of a strict graph that is named again gets what is said of it there. */
static int add_edge(struct dot *d, uint32_t from, const struct dot_end *to, double weight)
{
	int64_t same = find_edge(d, from, to->task);
	int err;

	if (same >= 0) {
		if (weight >= 0)
			d->draft->edges[same].data = weight;
		return 0;
	}
	if (same != -ENOENT)
		return same;
	if (weight < 0)
		weight = d->edge_weight < 0 ? 0 : d->edge_weight;
	err = dag_draft_edge(d->draft, from, to->task, weight, to->line);
	return err == -E2BIG ? refuse(d, "more than %u edges", DAG_EDGES_MAX) : err;
}

static int take_edges(struct dot *d, int64_t from)
{
	double weight = -1;
	uint32_t n = 0;
	int err = add_to_chain(d, n++, from);

	while (d->token == T_ARROW && !err) {
		int64_t to;

		err = next(d);
		to = err ? err : take_end(d);
		if (to < 0)
			return to;
		err = add_to_chain(d, n++, to);
	}
	if (!err)
		err = take_attributes(d, false, &weight);
	for (uint32_t i = 1; i < n && !err; i++)
		err = add_edge(d, d->chain[i - 1].task, &d->chain[i], weight);
	return err;
}

static int take_node(struct dot *d, int64_t task)
{
	uint32_t line = d->line;
	double weight = -1;
	int err = take_attributes(d, false, &weight);

	if (err || weight < 0)
		return err;
	if (d->seen[task].weighed && d->node_weight < 0) {
		d->line = line;
		return refuse(d, "task %.60s is listed twice",
			      plan_names_text(d->draft->names, task));
	}
	d->seen[task].weighed = true;
	d->draft->work[task] = weight;
	return 0;
}

static int take_statement(struct dot *d);

/* Starts after the opening brace and takes the closing one too. */
static int take_statements(struct dot *d)
{
	int err = 0;

	if (++d->depth > DEPTH_MAX)
		return refuse(d, "subgraphs are nested deeper than %d", DEPTH_MAX);
	while (!err && !is(d, '}'))
		err = is(d, ';') ? next(d) : take_statement(d);
	d->depth--;
	return err ? err : next(d);
}

static int take_subgraph(struct dot *d)
{
	double node_weight = d->node_weight, edge_weight = d->edge_weight;
	int err = 0;

	if (is_word(d, "subgraph")) {
		err = next(d);
		if (!err && d->token == T_ID)
			err = next(d);
	}
	if (!err && !is(d, '{'))
		return unexpected(d, "{");
	err = err ? err : next(d);
	err = err ? err : take_statements(d);
	if (!err && d->token == T_ARROW)
		return refuse(d, "an edge begins at a subgraph");
	d->node_weight = node_weight;
	d->edge_weight = edge_weight;
	return err;
}

static int take_statement(struct dot *d)
{
	double none = -1;
	int64_t task;
	int err;

	if (is(d, '{') || is_word(d, "subgraph"))
		return take_subgraph(d);
	if (d->token != T_ID)
		return unexpected(d, "a task, an edge or }");
	if (is_word(d, "graph") || is_word(d, "node") || is_word(d, "edge")) {
		char kind = d->text[0] | 32;

		err = next(d);
		if (!err && !is(d, '['))
			return unexpected(d, "[");
		return err ? err
			   : take_attributes(d, kind == 'g',
					     kind == 'n'   ? &d->node_weight
					     : kind == 'e' ? &d->edge_weight
							   : &none);
	}
	/* an attribute of the graph without brackets: the name is not a task */
	{
		const char *at = d->at;
		uint32_t line = d->line;

		skip_blanks(d);
		if (d->at < d->end && *d->at == '=')
			return take_assignment(d, true, &none);
		d->at = at;
		d->line = line;
	}
	task = take_end(d);
	if (task < 0)
		return task;
	return d->token == T_ARROW ? take_edges(d, task) : take_node(d, task);
}

static int take_graph(struct dot *d)
{
	int err = next(d);

	if (!err && is_word(d, "strict")) {
		d->strict = true;
		d->pairs = plan_names_new();
		err = d->pairs ? next(d) : -ENOMEM;
	}
	if (!err && is_word(d, "graph"))
		return refuse(d, "a graph without directions; a digraph is needed");
	if (!err && !is_word(d, "digraph"))
		return unexpected(d, "digraph");
	err = err ? err : next(d);
	if (!err && d->token == T_ID)
		err = next(d);
	if (!err && !is(d, '{'))
		return unexpected(d, "{");
	err = err ? err : next(d);
	err = err ? err : take_statements(d);
	if (!err && d->token != T_END)
		return unexpected(d, "its end");
	return err;
}

int dag_read_dot(const char *text, size_t length, struct dag_draft *draft,
		 struct plan_refusal *refusal)
{
	struct dot d = { .at = text,
			 .end = text + length,
			 .line = 1,
			 .draft = draft,
			 .refusal = refusal,
			 .node_weight = -1,
			 .edge_weight = -1 };
	int err = take_graph(&d);

	for (uint32_t t = 0; !err && t < plan_names_count(draft->names); t++)
		if (!d.seen[t].weighed)
			err = plan_refuse(refusal, d.seen[t].line, NULL,
					  "task %.60s has no Weight; \"node [Weight=1]\" would be "
					  "for all",
					  plan_names_text(draft->names, t));
	plan_names_free(d.pairs);
	free(d.chain);
	free(d.text);
	free(d.seen);
	return err;
}
