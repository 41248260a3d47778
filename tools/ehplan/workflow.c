// SPDX-License-Identifier: GPL-2.0-or-later
#define XXH_INLINE_ALL
#include "workflow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "ehplan.h"
#include "plan/dag/read.h"
#include "plan/json.h"

static int read_graph(const char *text, size_t length, struct workflow *w,
		      struct plan_refusal *refusal)
{
	struct dag_draft draft;
	int err = dag_draft_begin(&draft);

	if (!err)
		err = dag_read(text, length, &draft, refusal);
	if (!err)
		err = dag_graph_make(&draft, &w->graph, refusal);
	dag_draft_end(&draft);
	return err;
}

/* {"program":…,"arguments":[…]}: the words of a task. */
static int read_command(const json_t *command, const struct plan_path *path, struct workflow *w,
			uint32_t task, struct plan_refusal *refusal)
{
	struct plan_path list_path = { path, "arguments", 0 };
	const json_t *list;
	const char *program;
	uint64_t key;
	json_t *word;
	size_t i;
	int err = plan_json_text(command, path, "program", true, NULL, &program, refusal);

	if (!err)
		err = plan_json_array(command, path, "arguments", false, &list, refusal);
	if (err)
		return err;
	w->argv[task] = calloc(json_array_size(list) + 2, sizeof(char *));
	if (!w->argv[task])
		return -ENOMEM;
	w->argv[task][0] = strdup(program);
	key = XXH3_64bits(program, strlen(program) + 1);
	json_array_foreach(list, i, word) {
		struct plan_path at = { &list_path, NULL, i };
		const char *argument = json_string_value(word);

		if (!argument || strlen(argument) != json_string_length(word))
			return plan_json_refuse(&at, NULL, refusal,
						"text without a null byte is needed");
		w->argv[task][i + 1] = strdup(argument);
		if (!w->argv[task][i + 1])
			return -ENOMEM;
		key = XXH3_64bits_withSeed(argument, strlen(argument) + 1, key);
	}
	w->key[task] = key;
	return w->argv[task][0] ? 0 : -ENOMEM;
}

/* Numbers of the graph by number of the name, which is the order of the specification. */
static uint32_t *task_numbers(const struct dag_graph *g)
{
	uint32_t *number = malloc(g->tasks * sizeof(*number));

	for (uint32_t t = 0; number && t < g->tasks; t++)
		number[g->origin[t]] = t;
	return number;
}

static int read_commands(const char *text, size_t length, struct workflow *w,
			 struct plan_refusal *refusal)
{
	struct plan_path top = { 0 }, workflow = { &top, "workflow", 0 };
	struct plan_path execution = { &workflow, "execution", 0 };
	struct plan_path tasks = { &execution, "tasks", 0 };
	uint32_t *number = task_numbers(w->graph);
	json_t *document = plan_json_parse(text, length, refusal), *entry;
	const json_t *of, *run, *list, *command = NULL;
	int err = number ? 0 : -ENOMEM;
	size_t i;

	if (!err && !document)
		err = -EINVAL;
	if (!err)
		err = plan_json_object(document, &top, "workflow", true, &of, refusal);
	if (!err)
		err = plan_json_object(of, &workflow, "execution", true, &run, refusal);
	if (!err)
		err = plan_json_array(run, &execution, "tasks", true, &list, refusal);
	if (err)
		goto out;
	json_array_foreach(list, i, entry) {
		struct plan_path at = { &tasks, NULL, i }, path = { &at, "command", 0 };
		const char *id = json_string_value(json_object_get(entry, "id"));
		int64_t name = id ? plan_names_find(w->graph->names, id) : -1;

		err = name < 0 ? plan_json_refuse(&at, "id", refusal, "no such task")
			       : plan_json_object(entry, &at, "command", true, &command, refusal);
		if (!err)
			err = read_command(command, &path, w, number[name], refusal);
		if (err)
			break;
	}
out:
	json_decref(document);
	free(number);
	return err;
}

int workflow_read(const char *name, const char *text, size_t length, struct workflow *w)
{
	struct plan_refusal refusal = { 0 };
	int err;

	*w = (struct workflow){ 0 };
	err = read_graph(text, length, w, &refusal);
	if (!err) {
		w->argv = calloc(w->graph->tasks, sizeof(*w->argv));
		w->key = calloc(w->graph->tasks, sizeof(*w->key));
		err = w->argv && w->key ? read_commands(text, length, w, &refusal) : -ENOMEM;
	}
	return err ? call_refused(name, &refusal, err) : 0;
}

void workflow_close(struct workflow *w)
{
	for (uint32_t t = 0; w->argv && t < w->graph->tasks; t++) {
		for (char **word = w->argv[t]; word && *word; word++)
			free(*word);
		free(w->argv[t]);
	}
	free(w->argv);
	free(w->key);
	if (w->graph)
		dag_graph_free(w->graph);
	*w = (struct workflow){ 0 };
}
