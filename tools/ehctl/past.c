// SPDX-License-Identifier: GPL-2.0-or-later
#include "past.h"

#include <stdio.h>

#include "client.h"
#include "tools/common/common.h"
#include "whole.h"

#define PAST_PAGE 200 /* what the agent gives at most */

/* Where the next page begins. */
static void past_after(json_t *request, const json_t *last, bool all)
{
	const json_int_t at = json_integer_value(json_object_get(last, "at"));

	/* Rows of several homes have no common number: those of the same time come once more. */
	if (all)
		json_object_set_new(request, "until", json_integer(at + 1));
	else
		json_object_set(request, "before", json_object_get(last, "row"));
}

/* A home that was made again may give an ID a second time. */
static bool past_is_new(json_t *seen, const json_t *task)
{
	char key[160];

	snprintf(key, sizeof(key), "%s %" JSON_INTEGER_FORMAT, text_of(task, "id"),
		 json_integer_value(json_object_get(task, "at")));
	if (json_object_get(seen, key))
		return false;
	json_object_set_new(seen, key, json_true());
	return true;
}

/* A list that grows, the newest first. */
struct past {
	json_t *tasks, *seen;
	bool all, more;
};

/* One page. False: there was an error. */
static bool past_page(struct past *p, const json_t *ask, size_t limit, int *code)
{
	const size_t before = json_array_size(p->tasks);
	json_t *request = json_copy((json_t *)ask), *reply, *task;
	size_t i;

	json_object_set_new(request, "command", json_string("history"));
	json_object_set_new(request, "limit", json_integer((json_int_t)limit));
	if (before)
		past_after(request, json_array_get(p->tasks, before - 1), p->all);
	reply = client_ask(request, code);
	if (!reply)
		return false;
	json_array_foreach(json_object_get(reply, "tasks"), i, task) {
		if (p->all && !past_is_new(p->seen, task))
			continue;
		client_add_user(task);
		json_array_append(p->tasks, task);
	}
	p->more = json_is_true(json_object_get(reply, "more"));
	/* each page asks all nodes: the last one says who has answered */
	if (p->all && (!p->more || !before)) {
		json_object_del(reply, "more");
		whole_print_missing(reply);
	}
	/* more of one time than a page has */
	if (json_array_size(p->tasks) == before)
		p->more = false;
	json_decref(reply);
	return true;
}

json_t *past_ask(json_t *ask, size_t most, bool *more, int *code)
{
	struct past p = { .tasks = json_array(),
			  .seen = json_object(),
			  .all = json_is_true(json_object_get(ask, "all")) };
	json_t *ordered = json_array();
	size_t n = 0, limit;
	bool good;

	do {
		limit = most && most - n < PAST_PAGE ? most - n : PAST_PAGE;
		good = past_page(&p, ask, limit, code);
		n = json_array_size(p.tasks);
	} while (good && p.more && (!most || n < most));
	*more = p.more || (most && n > most);
	if (most && n > most)
		n = most;
	while (good && n) {
		json_t *task = json_array_get(p.tasks, --n);

		/* These are of the file, and of no use to anybody else. */
		json_object_del(task, "row");
		json_object_del(task, "at");
		json_array_append(ordered, task);
	}
	json_decref(p.tasks);
	json_decref(p.seen);
	json_decref(ask);
	if (good)
		return ordered;
	json_decref(ordered);
	return NULL;
}
