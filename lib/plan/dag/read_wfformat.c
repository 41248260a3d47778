// SPDX-License-Identifier: GPL-2.0-or-later
#include "read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "plan/json.h"

#define VERSION "1.5"

struct workflow {
	struct dag_draft *draft;
	struct dag_files files;
	struct plan_names *sizes; /* ids of files with a size */
	double *bytes;
	struct plan_refusal *refusal;
};

static int64_t find_task(const struct workflow *w, const json_t *value,
			 const struct plan_path *path)
{
	const char *id = json_string_value(value);
	int64_t number = id ? plan_names_find(w->draft->names, id) : -1;

	if (!id)
		return plan_json_refuse(path, NULL, w->refusal, "a task's id is needed");
	if (number < 0)
		return plan_json_refuse(path, NULL, w->refusal, "no task has the id \"%.60s\"", id);
	return number;
}

static int read_sizes(struct workflow *w, const json_t *list, const struct plan_path *path)
{
	json_t *entry;
	size_t i;

	w->bytes = malloc((json_array_size(list) + 1) * sizeof(*w->bytes));
	if (!w->bytes)
		return -ENOMEM;
	json_array_foreach(list, i, entry) {
		struct plan_path at = { path, NULL, i };
		int err = plan_json_id(entry, &at, w->sizes, w->refusal);

		if (!err)
			err = plan_json_number(entry, &at, "sizeInBytes", true, 0, DAG_NUMBER_MAX,
					       &w->bytes[i], w->refusal);
		if (err)
			return err;
	}
	return 0;
}

static int read_uses(struct workflow *w, const json_t *task, const struct plan_path *path,
		     uint32_t number, const char *member, bool writes)
{
	struct plan_path list_path = { path, member, 0 };
	const json_t *list;
	json_t *value;
	size_t i;
	int err = plan_json_array(task, path, member, false, &list, w->refusal);

	if (err)
		return err;
	json_array_foreach(list, i, value) {
		struct plan_path at = { &list_path, NULL, i };
		const char *id = json_string_value(value);
		int64_t file = id ? plan_names_find(w->sizes, id) : -1;

		if (!id)
			return plan_json_refuse(&at, NULL, w->refusal, "a file's id is needed");
		if (file < 0)
			return plan_json_refuse(&at, NULL, w->refusal,
						"no file has the id \"%.60s\"", id);
		err = dag_files_use(&w->files, number, id, writes, w->bytes[file]);
		if (err)
			return err;
	}
	return 0;
}

static int read_neighbours(struct workflow *w, const json_t *task, const struct plan_path *path,
			   uint32_t number, const char *member, bool children)
{
	struct plan_path list_path = { path, member, 0 };
	const json_t *list;
	json_t *value;
	size_t i;
	int err = plan_json_array(task, path, member, false, &list, w->refusal);

	if (err)
		return err;
	json_array_foreach(list, i, value) {
		struct plan_path at = { &list_path, NULL, i };
		int64_t other = find_task(w, value, &at);

		if (other < 0)
			return other;
		err = dag_draft_edge(w->draft, children ? number : other, children ? other : number,
				     0, number);
		if (err)
			return err;
	}
	return 0;
}

static int read_specification(struct workflow *w, const json_t *specification,
			      const struct plan_path *path)
{
	struct plan_path tasks = { path, "tasks", 0 }, files = { path, "files", 0 };
	const json_t *list, *file_list;
	json_t *entry;
	size_t i;
	int err = plan_json_array(specification, path, "tasks", true, &list, w->refusal);

	if (!err)
		err = plan_json_array(specification, path, "files", false, &file_list, w->refusal);
	if (!err)
		err = plan_json_filled(list, &tasks, DAG_TASKS_MAX, w->refusal);
	if (!err)
		err = read_sizes(w, file_list, &files);
	if (err)
		return err;
	json_array_foreach(list, i, entry) {
		struct plan_path at = { &tasks, NULL, i };
		int64_t number;
		const char *id;

		err = plan_json_text(entry, &at, "id", true, NULL, &id, w->refusal);
		if (err)
			return err;
		number = dag_draft_task(w->draft, id, -1);
		if (number == -EEXIST)
			return plan_json_refuse(&at, "id", w->refusal, "\"%.60s\" is listed twice",
						id);
		if (number < 0)
			return number;
	}
	json_array_foreach(list, i, entry) {
		struct plan_path at = { &tasks, NULL, i };

		err = read_uses(w, entry, &at, i, "inputFiles", false);
		if (!err)
			err = read_uses(w, entry, &at, i, "outputFiles", true);
		if (!err)
			err = read_neighbours(w, entry, &at, i, "parents", false);
		if (!err)
			err = read_neighbours(w, entry, &at, i, "children", true);
		if (err)
			return err;
	}
	return 0;
}

static int read_execution(struct workflow *w, const json_t *execution, const struct plan_path *path)
{
	struct plan_path tasks = { path, "tasks", 0 };
	const json_t *list;
	json_t *entry;
	size_t i;
	int err = plan_json_array(execution, path, "tasks", true, &list, w->refusal);

	if (err)
		return err;
	json_array_foreach(list, i, entry) {
		struct plan_path at = { &tasks, NULL, i }, id = { &at, "id", 0 };
		double seconds = 0;
		int64_t number = find_task(w, json_object_get(entry, "id"), &id);

		if (number < 0)
			return number;
		err = plan_json_number(entry, &at, "runtimeInSeconds", true, 0, DAG_NUMBER_MAX,
				       &seconds, w->refusal);
		if (err)
			return err;
		if (w->draft->work[number] >= 0)
			return plan_json_refuse(&at, "id", w->refusal, "it ran twice");
		w->draft->work[number] = seconds;
	}
	for (uint32_t t = 0; t < plan_names_count(w->draft->names); t++)
		if (w->draft->work[t] < 0)
			return plan_json_refuse(&tasks, NULL, w->refusal,
						"the run time of \"%.60s\" is missing",
						plan_names_text(w->draft->names, t));
	return 0;
}

/* Which version it is of: others have other members, which are missed here. */
static void say_version(const json_t *document, struct plan_refusal *refusal)
{
	const char *version = json_string_value(json_object_get(document, "schemaVersion"));
	size_t length = strlen(refusal->what);

	if (version && !strcmp(version, VERSION))
		return;
	snprintf(refusal->what + length, sizeof(refusal->what) - length,
		 "; WfFormat " VERSION " is read, and this %s%.20s",
		 version ? "is of " : "names no version", version ? version : "");
}

int dag_read_wfformat(const void *document, struct dag_draft *draft, struct plan_refusal *refusal)
{
	struct plan_path top = { 0 }, path = { &top, "workflow", 0 };
	struct plan_path specification = { &path, "specification", 0 };
	struct plan_path execution = { &path, "execution", 0 };
	struct workflow w = { .draft = draft, .refusal = refusal };
	const json_t *workflow, *plan, *run;
	int err = dag_files_begin(&w.files);

	w.sizes = plan_names_new();
	if (!w.sizes)
		err = -ENOMEM;
	draft->pattern = "$.workflow.specification.tasks[%u]";
	draft->bytes = true;
	if (!err)
		err = plan_json_object(document, &top, "workflow", true, &workflow, refusal);
	if (!err)
		err = plan_json_object(workflow, &path, "specification", true, &plan, refusal);
	if (!err)
		err = plan_json_object(workflow, &path, "execution", true, &run, refusal);
	if (!err)
		err = read_specification(&w, plan, &specification);
	if (!err)
		err = read_execution(&w, run, &execution);
	if (!err) {
		dag_draft_unite(draft);
		err = dag_files_weigh(&w.files, draft);
	}
	if (err == -EINVAL)
		say_version(document, refusal);
	dag_files_end(&w.files);
	plan_names_free(w.sizes);
	free(w.bytes);
	return err;
}
