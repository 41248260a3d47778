// SPDX-License-Identifier: GPL-2.0-or-later
#include "past.h"

#include "client.h"
#include "tools/common/common.h"

#define PAST_PAGE 200 /* what the agent gives at most */

/* One page: appends it to `tasks`, which has the newest first. False: there was an error. */
static bool add_page(const json_t *ask, size_t limit, json_t *tasks, bool *more, int *code)
{
	json_t *request = json_copy((json_t *)ask), *reply, *task;
	const json_t *last = json_array_get(tasks, json_array_size(tasks) - 1);
	size_t i;

	json_object_set_new(request, "command", json_string("history"));
	json_object_set_new(request, "limit", json_integer((json_int_t)limit));
	if (json_array_size(tasks))
		json_object_set(request, "before", json_object_get(last, "row"));
	reply = client_ask(request, code);
	if (!reply)
		return false;
	json_array_foreach(json_object_get(reply, "tasks"), i, task) {
		client_add_user(task);
		json_array_append(tasks, task);
	}
	*more = json_is_true(json_object_get(reply, "more"));
	json_decref(reply);
	return true;
}

json_t *past_ask(json_t *ask, size_t most, bool *more, int *code)
{
	json_t *tasks = json_array(), *ordered = json_array();
	size_t n = 0, limit;

	do {
		limit = most && most - n < PAST_PAGE ? most - n : PAST_PAGE;
		if (!add_page(ask, limit, tasks, more, code)) {
			json_decref(tasks);
			json_decref(ordered);
			json_decref(ask);
			return NULL;
		}
		n = json_array_size(tasks);
	} while (*more && (!most || n < most));
	while (n) {
		json_t *task = json_array_get(tasks, --n);

		/* It is of the file, and of no use to anybody else. */
		json_object_del(task, "row");
		json_array_append(ordered, task);
	}
	json_decref(tasks);
	json_decref(ask);
	return ordered;
}
