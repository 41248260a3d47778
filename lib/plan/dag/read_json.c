// SPDX-License-Identifier: GPL-2.0-or-later
#include "read.h"

#include <errno.h>

#include "plan/json.h"

static const char *const members[] = { "tasks", "edges", NULL };
static const char *const task_members[] = { "id", "work", "times", NULL };
static const char *const edge_members[] = { "from", "to", "data", NULL };

/* Run times on each processor, instead of work. */
static int read_times(const json_t *list, const struct plan_path *task, size_t index,
		      struct dag_draft *draft, struct plan_refusal *refusal)
{
	struct plan_path path = { task, "times", 0 };
	size_t count = json_array_size(list), i;
	json_t *value;
	double *more;

	if (!index) {
		draft->columns = count;
		draft->times_room = 0;
	}
	if (!count || count != draft->columns || count > 4096)
		return plan_json_refuse(&path, NULL, refusal,
					"%zu run times where each task needs as many as there are "
					"processors",
					count);
	more = plan_grow(draft->times, count * sizeof(*more), index, &draft->times_room);
	if (!more)
		return -ENOMEM;
	draft->times = more;
	json_array_foreach(list, i, value) {
		struct plan_path at = { &path, NULL, i };
		double number = json_number_value(value);

		if (!json_is_number(value) || !(number >= 0 && number <= DAG_NUMBER_MAX))
			return plan_json_refuse(&at, NULL, refusal,
						"a number from 0 to %g is needed", DAG_NUMBER_MAX);
		draft->times[index * count + i] = number;
	}
	return 0;
}

static int read_task(const json_t *entry, const struct plan_path *path, size_t index,
		     struct dag_draft *draft, struct plan_refusal *refusal)
{
	const json_t *times = NULL;
	double work = 0;
	char buffer[24];
	const char *id;
	int64_t number;
	int err = plan_json_known(entry, path, task_members, refusal);

	if (!err)
		err = plan_json_text(entry, path, "id", true, buffer, &id, refusal);
	if (!err)
		err = plan_json_array(entry, path, "times", false, &times, refusal);
	if (!err && times && json_object_get(entry, "work"))
		err = plan_json_refuse(path, NULL, refusal, "both \"work\" and \"times\"");
	if (!err && !times)
		err = plan_json_number(entry, path, "work", true, 0, DAG_NUMBER_MAX, &work,
				       refusal);
	if (!err && (index ? !!draft->columns : !!times) != !!times)
		err = plan_json_refuse(path, NULL, refusal,
				       "\"times\" are given for all tasks or for none");
	if (!err && times)
		err = read_times(times, path, index, draft, refusal);
	if (err)
		return err;
	number = dag_draft_task(draft, id, work);
	if (number == -EEXIST)
		return plan_json_refuse(path, "id", refusal, "\"%.60s\" is listed twice", id);
	return number < 0 ? (int)number : 0;
}

static int read_edge(const json_t *entry, const struct plan_path *path, size_t index,
		     struct dag_draft *draft, struct plan_refusal *refusal)
{
	uint32_t from, to;
	double data = 0;
	int err = plan_json_known(entry, path, edge_members, refusal);

	if (!err)
		err = plan_json_reference(entry, path, "from", draft->names, "task", &from,
					  refusal);
	if (!err)
		err = plan_json_reference(entry, path, "to", draft->names, "task", &to, refusal);
	if (!err)
		err = plan_json_number(entry, path, "data", false, 0, DAG_NUMBER_MAX, &data,
				       refusal);
	return err ? err : dag_draft_edge(draft, from, to, data, index);
}

static int read_own(const json_t *document, struct dag_draft *draft, struct plan_refusal *refusal)
{
	struct plan_path top = { 0 }, tasks = { &top, "tasks", 0 }, edges = { &top, "edges", 0 };
	const json_t *task_list, *edge_list;
	int err = plan_json_known(document, &top, members, refusal);
	json_t *entry;
	size_t i;

	draft->pattern = "$.edges[%u]";
	if (!err)
		err = plan_json_array(document, &top, "tasks", true, &task_list, refusal);
	if (!err)
		err = plan_json_array(document, &top, "edges", false, &edge_list, refusal);
	if (err)
		return err;
	err = plan_json_filled(task_list, &tasks, DAG_TASKS_MAX, refusal);
	if (err)
		return err;
	if (json_array_size(edge_list) > DAG_EDGES_MAX)
		return plan_json_refuse(&edges, NULL, refusal, "more than %u edges", DAG_EDGES_MAX);
	json_array_foreach(task_list, i, entry) {
		struct plan_path at = { &tasks, NULL, i };

		err = read_task(entry, &at, i, draft, refusal);
		if (err)
			return err;
	}
	json_array_foreach(edge_list, i, entry) {
		struct plan_path at = { &edges, NULL, i };

		err = read_edge(entry, &at, i, draft, refusal);
		if (err)
			return err;
	}
	return 0;
}

int dag_read_json(const char *text, size_t length, struct dag_draft *draft,
		  struct plan_refusal *refusal)
{
	json_t *document = plan_json_parse(text, length, refusal);
	int err;

	if (!document)
		return -EINVAL;
	if (json_object_get(document, "workflow"))
		err = dag_read_wfformat(document, draft, refusal);
	else
		err = read_own(document, draft, refusal);
	json_decref(document);
	return err;
}
