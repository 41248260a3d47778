// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/whole.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/agent.h"
#include "base/config.h"
#include "base/user.h"
#include "ctl/past.h"
#include "ctl/socket.h"
#include "ctl/survey.h"
#include "ctl/tasks.h"
#include "ctl/viewer.h"
#include "ctl/watchers.h"
#include "net/names.h"

static const char *whole_text(const json_t *object, const char *member)
{
	return json_string_value(json_object_get(object, member)) ?: "";
}

/* Replies with the list of all, and those that said nothing, and why. Takes over both lists. */
static void whole_reply(struct ctl_conn *c, const char *name, json_t *list, bool more,
			json_t *nodes, const char *why)
{
	struct agent *agent = ctl_agent(c);
	json_t *refused = json_array(), *one, *copy;
	size_t i;

	json_array_foreach(nodes, i, one) {
		if (!json_object_get(one, "refused"))
			continue;
		copy = json_copy(one);
		names_add(agent, copy);
		json_array_append_new(refused, copy);
	}
	if (nodes)
		ctl_reply(c, json_pack("{s:i,s:O,s:b,s:o,s:O}", "version", 1, name, list, "more",
				       (int)more, "silent", survey_silent(agent, nodes), "refused",
				       refused));
	else
		ctl_reply(c, ctl_error(name, why, false));
	json_decref(refused);
	json_decref(list);
	json_decref(nodes);
}

/* ---- tasks ---- */

/* The home knows the task; the executor what it uses. */
static void whole_add_task(json_t *by_id, json_t *task, bool home)
{
	static const char *const used[] = { "cpu", "memory" };
	json_t *known = json_object_get(by_id, whole_text(task, "id"));

	if (!known) {
		json_object_set(by_id, whole_text(task, "id"), task);
		return;
	}
	for (size_t i = 0; !home && i < sizeof(used) / sizeof(*used); i++)
		if (json_is_null(json_object_get(known, used[i])))
			json_object_set(known, used[i], json_object_get(task, used[i]));
}

/* A node speaks of tasks that are its own, or its guests. */
static void whole_add_tasks(json_t *by_id, const json_t *node, bool home, bool *more)
{
	const char *code = whole_text(node, "node");
	json_t *task;
	size_t i;

	json_array_foreach(json_object_get(node, "items"), i, task)
		if (!strcmp(whole_text(task, home ? "home" : "executor"), code) &&
		    (home || strcmp(whole_text(task, "home"), code)))
			whole_add_task(by_id, task, home);
	*more |= json_object_get(node, "rest") != NULL;
}

static void whole_on_tasks(void *ctx, json_t *nodes, const char *why)
{
	struct agent *agent = ctl_agent(ctx);
	json_t *by_id = json_object(), *tasks = json_array(), *node, *task;
	const char *id;
	bool more = false;
	size_t i;

	json_array_foreach(nodes, i, node)
		whole_add_tasks(by_id, node, true, &more);
	json_array_foreach(nodes, i, node)
		whole_add_tasks(by_id, node, false, &more);
	json_object_foreach(by_id, id, task) {
		names_add(agent, task);
		json_object_del(task, "at");
		json_array_append(tasks, task);
	}
	json_decref(by_id);
	whole_reply(ctx, "tasks", tasks, more, nodes, why);
}

void whole_tasks(struct ctl_conn *c)
{
	struct viewer viewer;

	viewer_local(&viewer, c);
	survey_all(ctl_agent(c), &viewer, &tasks_kind, json_object(), whole_on_tasks, c);
}

/* ---- history and events: lists with the newest first ---- */

struct whole_item {
	json_t *item;
	json_int_t at;
};

static int whole_compare(const void *a, const void *b)
{
	const struct whole_item *x = a, *y = b;

	return x->at < y->at ? 1 : x->at > y->at ? -1 : 0;
}

/*
 * Merges the lists. Where a node does not tell all it knows, nothing of before that is taken: something
 * would be missing in between.
 */
static json_t *whole_merge(const json_t *nodes, bool *more)
{
	json_t *list = json_array(), *node, *item;
	json_int_t least = INT64_MIN;
	struct whole_item *items;
	size_t i, k, n = 0;

	*more = false;
	json_array_foreach((json_t *)nodes, i, node) {
		const json_t *rest = json_object_get(node, "rest");

		n += json_array_size(json_object_get(node, "items"));
		*more |= rest != NULL;
		if (rest && json_integer_value(rest) > least)
			least = json_integer_value(rest);
	}
	items = malloc((n + 1) * sizeof(*items));
	if (!items)
		goto out;
	n = 0;
	json_array_foreach((json_t *)nodes, i, node)
		json_array_foreach(json_object_get(node, "items"), k, item) {
			const json_int_t at = json_integer_value(json_object_get(item, "at"));

			if (json_is_object(item) && at >= least)
				items[n++] = (struct whole_item){ item, at };
		}
	qsort(items, n, sizeof(*items), whole_compare);
	for (i = 0; i < n; i++)
		json_array_append(list, items[i].item);
out:
	free(items);
	return list;
}

static void whole_on_history(void *ctx, json_t *nodes, const char *why)
{
	bool more;
	json_t *tasks = whole_merge(nodes, &more);

	whole_reply(ctx, "tasks", tasks, more, nodes, why);
}

void whole_history(struct ctl_conn *c, const json_t *request)
{
	struct agent *agent = ctl_agent(c);
	json_t *question = json_copy((json_t *)request);
	const json_t *uid = json_object_get(request, "uid");
	const char *name;
	struct viewer viewer;

	viewer_local(&viewer, c);
	json_object_del(question, "command");
	json_object_del(question, "all");
	if (uid) {
		name = user_name(json_integer_value(uid));
		json_object_set(question, "owner", (json_t *)uid);
		json_object_set_new(question, "owner_name", json_string(name ?: ""));
	}
	survey_all(agent, &viewer, &past_kind, question, whole_on_history, c);
}

static void whole_on_events(void *ctx, json_t *nodes, const char *why)
{
	struct agent *agent = ctl_agent(ctx);
	json_t *node, *event, *events;
	size_t i, k;
	bool more;

	json_array_foreach(nodes, i, node)
		json_array_foreach(json_object_get(node, "items"), k, event) {
			json_object_set(event, "self", json_object_get(node, "node"));
			names_add(agent, event);
		}
	events = whole_merge(nodes, &more);
	whole_reply(ctx, "events", events, more, nodes, why);
}

void whole_events(struct ctl_conn *c, const json_t *request)
{
	const json_t *since = json_object_get(request, "since_ms");
	struct viewer viewer;

	if (!json_is_integer(since) || json_integer_value(since) < 0) {
		ctl_reply(c, ctl_error("since_ms", "must be a number", true));
		return;
	}
	viewer_local(&viewer, c);
	survey_all(ctl_agent(c), &viewer, &watchers_kind, json_pack("{s:O}", "since_ms", since),
		   whole_on_events, c);
}
