// SPDX-License-Identifier: GPL-2.0-or-later
#include "read.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "number.h"

struct lines {
	const char *at, *end; /**< of the text that is left */
	const char *word; /**< in the line that was taken */
	const char *line_end;
	uint32_t line;
};

/* The next line that is neither empty nor a comment. */
static bool next_line(struct lines *l)
{
	while (l->at < l->end) {
		const char *end = memchr(l->at, '\n', l->end - l->at);

		l->word = l->at;
		l->line_end = end ? end : l->end;
		l->at = end ? end + 1 : l->end;
		l->line++;
		while (l->word < l->line_end && strchr(" \t\r\f\v", *l->word))
			l->word++;
		if (l->word < l->line_end && *l->word != '#')
			return true;
	}
	return false;
}

/* 0: the line has ended. */
static size_t next_word(struct lines *l, const char **word)
{
	while (l->word < l->line_end && strchr(" \t\r\f\v", *l->word))
		l->word++;
	*word = l->word;
	while (l->word < l->line_end && !strchr(" \t\r\f\v", *l->word))
		l->word++;
	return l->word - *word;
}

static int read_number(struct lines *l, const char *what, double most, bool whole, double *out,
		       struct plan_refusal *refusal)
{
	const char *word, *end;
	size_t length = next_word(l, &word);

	if (!length)
		return plan_refuse(refusal, l->line, NULL, "%s is missing", what);
	end = dag_number(word, word + length, most, out);
	if (end != word + length || (whole && *out != (double)(uint64_t)*out))
		return plan_refuse(
			refusal, l->line, NULL, "%s: \"%.*s\" is not a %snumber from 0 to %g", what,
			length > 40 ? 40 : (int)length, word, whole ? "whole " : "", most);
	return 0;
}

static int read_id(struct lines *l, char id[24], struct plan_refusal *refusal)
{
	const char *word;
	size_t length = next_word(l, &word);

	if (!length || length >= 20 || strspn(word, "0123456789") < length)
		return plan_refuse(refusal, l->line, NULL,
				   length ? "\"%.*s\" is not a task number"
					  : "a task number is missing%.*s",
				   length > 40 ? 40 : (int)length, word);
	memcpy(id, word, length);
	id[length] = '\0';
	return 0;
}

static int read_tasks(struct lines l, struct dag_draft *draft, struct plan_refusal *refusal)
{
	double work = 0;
	int64_t number;
	char id[24];
	int err;

	while (next_line(&l)) {
		err = read_id(&l, id, refusal);
		if (!err)
			err = read_number(&l, "its time", DAG_NUMBER_MAX, false, &work, refusal);
		if (err)
			return err;
		number = dag_draft_task(draft, id, work);
		if (number == -EEXIST)
			return plan_refuse(refusal, l.line, NULL, "task %s is listed twice", id);
		if (number == -E2BIG)
			return plan_refuse(refusal, l.line, NULL, "more than %u tasks",
					   DAG_TASKS_MAX);
		if (number < 0)
			return number;
	}
	return 0;
}

static int read_edges(struct lines l, struct dag_draft *draft, struct plan_refusal *refusal)
{
	const char *word;
	double count = 0;
	char id[24];

	for (uint32_t task = 0; next_line(&l); task++) {
		int err;

		next_word(&l, &word);
		next_word(&l, &word);
		err = read_number(&l, "its number of predecessors", DAG_TASKS_MAX, true, &count,
				  refusal);
		for (uint32_t i = 0; i < count && !err; i++) {
			int64_t from;

			err = read_id(&l, id, refusal);
			if (err)
				return err;
			from = plan_names_find(draft->names, id);
			if (from < 0)
				return plan_refuse(refusal, l.line, NULL,
						   "no task has the number %s", id);
			err = dag_draft_edge(draft, from, task, 0, l.line);
			if (err == -E2BIG)
				err = plan_refuse(refusal, l.line, NULL, "more than %u edges",
						  DAG_EDGES_MAX);
		}
		if (err)
			return err;
		if (next_word(&l, &word))
			return plan_refuse(refusal, l.line, NULL,
					   "more predecessors than the %.0f announced", count);
	}
	return 0;
}

/* The first line has the number of tasks: without the dummy tasks at both ends in files of the set
 * itself, with them in some other files. A second number there is the number of processors. */
int dag_read_stg(const char *text, size_t length, struct dag_draft *draft,
		 struct plan_refusal *refusal)
{
	struct lines l = { .at = text, .end = text + length };
	double announced = 0, processors;
	const char *word, *end;
	uint32_t tasks;
	size_t n;
	int err;

	next_line(&l);
	err = read_number(&l, "the number of tasks", DAG_TASKS_MAX, true, &announced, refusal);
	if (err)
		return err;
	n = next_word(&l, &word);
	if (n) {
		end = dag_number(word, word + n, 1e6, &processors);
		if (end != word + n || processors < 1 || processors != (uint32_t)processors ||
		    next_word(&l, &word))
			return plan_refuse(refusal, l.line, NULL,
					   "the first line has the number of tasks, and that of "
					   "processors at most");
		draft->processors = processors;
	}
	err = read_tasks(l, draft, refusal);
	if (!err)
		err = read_edges(l, draft, refusal);
	if (err)
		return err;
	tasks = plan_names_count(draft->names);
	if (tasks < announced || tasks > announced + 2)
		return plan_refuse(refusal, 1, NULL,
				   "%.0f tasks are announced, and %u are there; two dummy ones may "
				   "come on top",
				   announced, tasks);
	return 0;
}
