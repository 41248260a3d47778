// SPDX-License-Identifier: GPL-2.0-or-later
#include "past.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "tools/common/common.h"
#include "whole.h"

#define PAST_PAGE 200 /* what the agent gives at most */
#define PAST_PAGES 250 /* of all nodes: one that lies could go on without end */

/* A home that was made again may give an ID a second time. */
static bool past_is_new(json_t *seen, const json_t *task)
{
	char key[192];

	snprintf(key, sizeof(key), "%s %" JSON_INTEGER_FORMAT " %s", text_of(task, "teller"),
		 json_integer_value(json_object_get(task, "at")), text_of(task, "id"));
	if (json_object_get(seen, key))
		return false;
	json_object_set_new(seen, key, json_true());
	return true;
}

/* A list that grows, the newest first. */
struct past {
	const char *name;
	json_t *tasks, *seen, *missing;
	bool all, more;
	bool full; /* the last page had nothing new: go on before that moment */
	bool skipped; /* more began in one moment than a page can have */
};

/* Where the next page begins. */
static void past_after(json_t *request, const struct past *p)
{
	const json_t *last = json_array_get(p->tasks, json_array_size(p->tasks) - 1);
	const json_int_t at = json_integer_value(json_object_get(last, "at"));

	/* Rows of several homes have no common number: those of the same time come once more. */
	if (p->all)
		json_object_set_new(request, "until",
				    json_integer(!p->full && at < INT64_MAX ? at + 1 : at));
	else
		json_object_set(request, "before", json_object_get(last, "row"));
}

/* Each page asks all nodes, and one that did not answer may have done so before. */
static void past_add_missing(json_t *missing, const json_t *reply)
{
	static const char *const lists[] = { "silent", "refused" };
	json_t *node, *known;
	size_t i, k;

	for (size_t n = 0; n < sizeof(lists) / sizeof(*lists); n++)
		json_array_foreach(json_object_get(reply, lists[n]), i, node) {
			json_array_foreach(json_object_get(missing, lists[n]), k, known)
				if (!strcmp(text_of(known, "node"), text_of(node, "node")))
					break;
			if (k == json_array_size(json_object_get(missing, lists[n])))
				json_array_append(json_object_get(missing, lists[n]), node);
		}
}

/* Adds those that are new; whether there were some. */
static bool past_add(struct past *p, const json_t *tasks)
{
	const size_t before = json_array_size(p->tasks);
	json_t *task;
	size_t i;

	json_array_foreach((json_t *)tasks, i, task) {
		if (p->all && !past_is_new(p->seen, task))
			continue;
		if (json_object_get(task, "uid"))
			client_add_user(task);
		json_array_append(p->tasks, task);
	}
	return json_array_size(p->tasks) > before;
}

/* One page. False: there was an error, or there is no other one. */
static bool past_page(struct past *p, const json_t *ask, size_t limit, int *code)
{
	const size_t before = json_array_size(p->tasks);
	json_t *request = json_copy((json_t *)ask), *reply;
	bool new;

	json_object_set_new(request, "command", json_string("history"));
	json_object_set_new(request, "limit", json_integer((json_int_t)limit));
	if (before)
		past_after(request, p);
	reply = client_ask(request, code);
	if (!reply)
		return false;
	new = past_add(p, json_object_get(reply, p->name));
	p->more = json_is_true(json_object_get(reply, "more"));
	past_add_missing(p->missing, reply);
	json_decref(reply);
	if (new || !p->more) {
		p->full = false;
		return true;
	}
	if (!before) {
		*code = fail(EXIT_REFUSED, "more of one moment than a page can have: "
					   "--until another time lists those before");
		return false;
	}
	/* twice nothing new: what is left cannot be had */
	p->more = !p->full;
	p->full = p->skipped = true;
	return true;
}

/* The last ones first, and without what is of no use to others. */
static json_t *past_ordered(const struct past *p, size_t n)
{
	json_t *ordered = json_array(), *task;

	while (n) {
		task = json_array_get(p->tasks, --n);
		json_object_del(task, "row");
		json_object_del(task, "at");
		json_object_del(task, "teller");
		if (!strcmp(p->name, "events"))
			json_object_del(task, "id");
		json_array_append(ordered, task);
	}
	return ordered;
}

json_t *past_ask(json_t *ask, size_t most, int *code)
{
	struct past p = { .name = json_object_get(ask, "events") ? "events" : "tasks",
			  .tasks = json_array(),
			  .seen = json_object(),
			  .missing = json_pack("{s:[],s:[]}", "silent", "refused"),
			  .all = json_is_true(json_object_get(ask, "all")) };
	json_t *document = NULL;
	size_t n = 0, pages = 0, limit;
	bool good;

	*code = EXIT_DONE;
	do {
		/* of all homes it begins with some that are known */
		limit = !p.all && most && most - n < PAST_PAGE ? most - n : PAST_PAGE;
		good = past_page(&p, ask, limit, code);
		n = json_array_size(p.tasks);
	} while (good && p.more && (!most || n < most) && (!p.all || ++pages < PAST_PAGES));
	if (good && p.all)
		whole_print_missing(p.missing, false);
	if (p.skipped) {
		fail(0, "more began in one moment than an answer can have: some are left out");
		p.more = true;
	}
	if (most && n > most) {
		p.more = true;
		n = most;
	}
	if (good)
		document = json_pack("{s:i,s:o,s:b}", "version", 1, p.name, past_ordered(&p, n),
				     "more", (int)p.more);
	if (p.all)
		json_object_update(document, p.missing);
	json_decref(p.tasks);
	json_decref(p.seen);
	json_decref(p.missing);
	json_decref(ask);
	return document;
}

/* One answer. NULL after a message. */
static json_t *past_ask_groups(const json_t *ask, int *code)
{
	json_t *reply = client_ask(json_copy((json_t *)ask), code), *group;
	size_t i;

	json_array_foreach(json_object_get(reply, "groups"), i, group) {
		if (json_object_get(group, "uid"))
			client_add_user(group);
		if (json_is_integer(json_object_get(group, "key")))
			json_object_set(group, "key", json_object_get(group, "user"));
	}
	return reply;
}

static json_int_t past_last_hour(const json_t *document)
{
	const json_t *groups = json_object_get(document, "groups");

	return json_integer_value(
		json_object_get(json_array_get(groups, json_array_size(groups) - 1), "at"));
}

/* Hours have an order, so that what an answer leaves out is in the next one. */
static bool past_add_hours(json_t *document, const json_t *ask, int *code)
{
	const json_int_t last = past_last_hour(document);
	json_t *groups = json_object_get(document, "groups"), *request, *reply;

	request = json_copy((json_t *)ask);
	json_object_set_new(request, "until", json_integer(last));
	reply = past_ask_groups(request, code);
	json_decref(request);
	if (!reply)
		return false;
	json_array_extend(groups, json_object_get(reply, "groups"));
	past_add_missing(document, reply);
	/* without earlier ones there is no next answer */
	json_object_set_new(document, "more",
			    json_boolean(json_is_true(json_object_get(reply, "more")) &&
					 past_last_hour(document) < last));
	json_decref(reply);
	return true;
}

json_t *past_groups(json_t *ask, const char *by, int *code)
{
	const bool all = json_is_true(json_object_get(ask, "all"));
	json_t *document, *group;
	size_t i, pages = 0;

	json_object_set_new(ask, "command", json_string("history"));
	json_object_set_new(ask, "by", json_string(by));
	document = past_ask_groups(ask, code);
	while (document && !strcmp(by, "hour") && json_is_true(json_object_get(document, "more")) &&
	       json_array_size(json_object_get(document, "groups")) && ++pages < PAST_PAGES)
		if (!past_add_hours(document, ask, code)) {
			json_decref(document);
			document = NULL;
		}
	if (all && document)
		whole_print_missing(document, false);
	json_array_foreach(json_object_get(document, "groups"), i, group)
		json_object_del(group, "at");
	json_decref(ask);
	return document;
}
