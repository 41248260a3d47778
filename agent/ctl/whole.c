// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/whole.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/agent.h"
#include "base/config.h"
#include "base/user.h"
#include "cluster/report.h"
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
		ctl_reply(c, json_pack("{s:i,s:s,s:O,s:b,s:o,s:O}", "version", 1, "self",
				       agent->code, name, list, "more", (int)more, "silent",
				       survey_silent(agent, nodes), "refused", refused));
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
		if (report_id_is_of(whole_text(task, "id"), whole_text(task, "home")) &&
		    !strcmp(whole_text(task, home ? "home" : "executor"), code) &&
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
	json_int_t at, row; /* row: of its home's file, in which it stands behind earlier ones */
};

static int whole_compare(const void *a, const void *b)
{
	const struct whole_item *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? 1 : -1;
	if (x->row != y->row)
		return x->row < y->row ? 1 : -1;
	/* else the order would be that in which nodes answered */
	return strcmp(whole_text(y->item, "id"), whole_text(x->item, "id"));
}

/*
 * Merges the lists. With `whole`, where a node does not tell all it knows, nothing of before that is
 * taken: something would be missing in between.
 */
static json_t *whole_merge(const json_t *nodes, bool whole, bool *more)
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
		if (whole && rest && json_integer_value(rest) > least)
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
				items[n++] = (struct whole_item){
					item, at, json_integer_value(json_object_get(item, "row"))
				};
		}
	qsort(items, n, sizeof(*items), whole_compare);
	for (i = 0; i < n; i++)
		json_array_append(list, items[i].item);
out:
	free(items);
	return list;
}

/* Two homes may say that they have a task of the same ID. */
static void whole_add_tellers(const json_t *nodes)
{
	json_t *node, *task;
	size_t i, k;

	json_array_foreach((json_t *)nodes, i, node)
		json_array_foreach(json_object_get(node, "items"), k, task)
			json_object_set(task, "teller", json_object_get(node, "node"));
}

static void whole_on_history(void *ctx, json_t *nodes, const char *why)
{
	bool more;
	json_t *tasks;

	whole_add_tellers(nodes);
	tasks = whole_merge(nodes, true, &more);

	whole_reply(ctx, "tasks", tasks, more, nodes, why);
}

static void whole_on_kept_events(void *ctx, json_t *nodes, const char *why)
{
	bool more;
	json_t *events = whole_merge(nodes, true, &more);

	whole_reply(ctx, "events", events, more, nodes, why);
}

/* ---- groups of tasks, added up ---- */

static const char *whole_earlier(const char *a, const char *b)
{
	return strcmp(a, b) < 0 ? a : b;
}

/* A node may say what it likes. */
static json_t *whole_sum(const json_t *a, const json_t *b)
{
	json_int_t sum;

	if (__builtin_add_overflow(json_integer_value(a), json_integer_value(b), &sum))
		sum = INT64_MAX;
	return json_integer(sum);
}

static void whole_add_group(json_t *to, const json_t *group, bool hours)
{
	static const char *const counts[] = { "tasks", "away", "failed", "lost", "running", "at" };
	const char *const ends[] = { whole_text(to, "last"), whole_text(group, "last") };
	const size_t n = sizeof(counts) / sizeof(*counts) - (hours ? 1 : 0);

	for (size_t i = 0; i < n; i++)
		json_object_set_new(to, counts[i],
				    whole_sum(json_object_get(to, counts[i]),
					      json_object_get(group, counts[i])));
	json_object_set_new(to, "cpu_away",
			    json_real(json_number_value(json_object_get(to, "cpu_away")) +
				      json_number_value(json_object_get(group, "cpu_away"))));
	json_object_set_new(to, "started",
			    json_string(whole_earlier(whole_text(to, "started"),
						      whole_text(group, "started"))));
	json_object_set_new(
		to, "last",
		json_string(whole_earlier(ends[0], ends[1]) == ends[0] ? ends[1] : ends[0]));
}

/* A session is of its home; users of one name are one, whatever their numbers are. */
static void whole_take_group(json_t *by_key, json_t *group, bool hours)
{
	const json_t *key = json_object_get(group, "key");
	json_t *name = json_sprintf("%s %s", whole_text(group, "home"),
				    whole_text(group, json_is_integer(key) ? "user" : "key"));
	json_t *known = json_object_get(by_key, json_string_value(name) ?: "");

	if (known)
		whole_add_group(known, group, hours);
	else if (name)
		json_object_set(by_key, json_string_value(name), group);
	json_decref(name);
}

static void whole_reply_groups(struct ctl_conn *c, json_t *nodes, bool hours, const char *why)
{
	json_t *by_key = json_object(), *list = json_array(), *all, *node, *group;
	json_int_t least = INT64_MIN;
	bool more, cut = false;
	const char *key;
	size_t i, k;

	json_array_foreach(nodes, i, node) {
		const json_t *rest = json_object_get(node, "rest");

		cut |= rest != NULL;
		if (rest && json_integer_value(rest) > least)
			least = json_integer_value(rest);
	}
	/* a sum of some homes is better than none, but hours can be asked for again */
	json_array_foreach(nodes, i, node)
		json_array_foreach(json_object_get(node, "items"), k, group)
			if (!hours || !cut ||
			    json_integer_value(json_object_get(group, "at")) > least)
				whole_take_group(by_key, group, hours);
	json_object_foreach(by_key, key, group) {
		if (json_is_integer(json_object_get(group, "key"))) {
			json_object_set(group, "key", json_object_get(group, "user"));
			json_object_del(group, "uid");
		}
		json_array_append(list, group);
	}
	all = json_pack("[{s:o}]", "items", list);
	list = whole_merge(all, true, &more);
	json_decref(all);
	json_decref(by_key);
	whole_reply(c, "groups", list, cut, nodes, why);
}

static void whole_on_groups(void *ctx, json_t *nodes, const char *why)
{
	whole_reply_groups(ctx, nodes, false, why);
}

static void whole_on_hours(void *ctx, json_t *nodes, const char *why)
{
	whole_reply_groups(ctx, nodes, true, why);
}

static survey_done_fn whole_history_of(const json_t *question)
{
	const char *by = json_string_value(json_object_get(question, "by"));

	if (json_object_get(question, "events"))
		return whole_on_kept_events;
	if (!by)
		return whole_on_history;
	return strcmp(by, "hour") ? whole_on_groups : whole_on_hours;
}

static const struct survey_kind *whole_kind(const char *by)
{
	return !by ? &past_kind : strcmp(by, "hour") ? &past_groups_kind : &past_hours_kind;
}

void whole_history(struct ctl_conn *c, const json_t *request)
{
	struct agent *agent = ctl_agent(c);
	json_t *question = json_object(), *uid;
	const char *by = json_string_value(json_object_get(request, "by"));
	const char *name;
	struct viewer viewer;

	if (!past_check(c, request, question)) {
		json_decref(question);
		return;
	}
	viewer_local(&viewer, c);
	uid = json_object_get(question, "uid");
	if (uid) {
		name = user_name(json_integer_value(uid));
		json_object_set(question, "owner", uid);
		json_object_set_new(question, "owner_name", json_string(name ?: ""));
	}
	survey_all(agent, &viewer, whole_kind(by), question, whole_history_of(question), c);
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
	events = whole_merge(nodes, false, &more);
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
