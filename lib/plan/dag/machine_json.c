// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph.h"
#include "plan/json.h"

static const char *const machine_members[] = { "processors", "relays", "links", NULL };
static const char *const processor_members[] = { "id", "speed", "startup", NULL };
static const char *const relay_members[] = { "id", NULL };
static const char *const link_members[] = { "a", "b", "rate", "startup", NULL };

static int read_processors(const json_t *list, const struct plan_path *path,
			   struct dag_machine_draft *draft, struct plan_refusal *refusal)
{
	size_t count = json_array_size(list), i;
	json_t *entry;
	int err;

	err = plan_json_filled(list, path, DAG_PROCESSORS_MAX, refusal);
	if (err)
		return err;
	draft->processors = count;
	draft->speed = malloc(count * sizeof(*draft->speed));
	draft->startup = malloc(count * sizeof(*draft->startup));
	if (!draft->speed || !draft->startup)
		return -ENOMEM;
	json_array_foreach(list, i, entry) {
		struct plan_path at = { path, NULL, i };

		draft->speed[i] = 1;
		draft->startup[i] = 0;
		err = plan_json_known(entry, &at, processor_members, refusal);
		if (!err)
			err = plan_json_id(entry, &at, draft->names, refusal);
		if (!err)
			err = plan_json_number(entry, &at, "speed", false, DAG_NUMBER_LEAST,
					       DAG_NUMBER_MAX, &draft->speed[i], refusal);
		if (!err)
			err = plan_json_number(entry, &at, "startup", false, 0, DAG_NUMBER_MAX,
					       &draft->startup[i], refusal);
		if (err)
			return err;
	}
	return 0;
}

static int read_relays(const json_t *list, const struct plan_path *path,
		       struct dag_machine_draft *draft, struct plan_refusal *refusal)
{
	json_t *entry;
	int err = 0;
	size_t i;

	if (json_array_size(list) > DAG_PROCESSORS_MAX)
		return plan_json_refuse(path, NULL, refusal, "more than %u relays",
					DAG_PROCESSORS_MAX);
	json_array_foreach(list, i, entry) {
		struct plan_path at = { path, NULL, i };

		err = plan_json_known(entry, &at, relay_members, refusal);
		if (!err)
			err = plan_json_id(entry, &at, draft->names, refusal);
		if (err)
			break;
	}
	return err;
}

static int read_links(const json_t *list, const struct plan_path *path,
		      struct dag_machine_draft *draft, struct plan_refusal *refusal)
{
	size_t count = json_array_size(list), i;
	json_t *entry;
	int err;

	if (count > DAG_ROUTES_MAX)
		return plan_json_refuse(path, NULL, refusal, "more than %u links", DAG_ROUTES_MAX);
	draft->wires = malloc((count + 1) * sizeof(*draft->wires));
	if (!draft->wires)
		return -ENOMEM;
	json_array_foreach(list, i, entry) {
		struct dag_wire wire = { .place = i,
					 .rate = draft->rate,
					 .startup = draft->link_startup };
		struct plan_path at = { path, NULL, i };

		err = plan_json_known(entry, &at, link_members, refusal);
		if (!err)
			err = plan_json_reference(entry, &at, "a", draft->names,
						  "processor or relay", &wire.a, refusal);
		if (!err)
			err = plan_json_reference(entry, &at, "b", draft->names,
						  "processor or relay", &wire.b, refusal);
		if (!err)
			err = plan_json_number(entry, &at, "rate", false, DAG_NUMBER_LEAST,
					       DAG_NUMBER_MAX, &wire.rate, refusal);
		if (!err)
			err = plan_json_number(entry, &at, "startup", false, 0, DAG_NUMBER_MAX,
					       &wire.startup, refusal);
		if (err)
			return err;
		draft->wires[draft->nwires++] = wire;
	}
	return 0;
}

static int read_machine(const json_t *document, struct dag_machine_draft *draft,
			struct plan_refusal *refusal)
{
	struct plan_path top = { 0 }, processors = { &top, "processors", 0 };
	struct plan_path relays = { &top, "relays", 0 }, links = { &top, "links", 0 };
	const json_t *list, *relay_list, *link_list;
	int err = plan_json_known(document, &top, machine_members, refusal);

	if (!err)
		err = plan_json_array(document, &top, "processors", true, &list, refusal);
	if (!err)
		err = plan_json_array(document, &top, "relays", false, &relay_list, refusal);
	if (!err)
		err = plan_json_array(document, &top, "links", false, &link_list, refusal);
	if (!err)
		err = read_processors(list, &processors, draft, refusal);
	if (!err && relay_list)
		err = read_relays(relay_list, &relays, draft, refusal);
	if (!err && link_list)
		err = read_links(link_list, &links, draft, refusal);
	if (err)
		return err;
	draft->full = !link_list;
	if (draft->full && json_array_size(relay_list))
		return plan_json_refuse(&relays, NULL, refusal, "relays without links");
	return 0;
}

int dag_machine_read(const char *text, size_t length, double rate, double startup,
		     struct dag_machine **out, struct plan_refusal *refusal)
{
	struct dag_machine_draft draft = { .rate = rate, .link_startup = startup };
	json_t *document;
	size_t at = 0;
	int err;

	while (at < length && (text[at] == ' ' || (text[at] >= '\t' && text[at] <= '\r')))
		at++;
	if (at < length && text[at] == '<')
		return dag_platform_read(text, length, out, refusal);
	document = plan_json_parse(text, length, refusal);
	if (!document)
		return -EINVAL;
	draft.names = plan_names_new();
	err = draft.names ? read_machine(document, &draft, refusal) : -ENOMEM;
	if (!err)
		err = dag_machine_make(&draft, out, refusal);
	/* what the links as a whole are refused for has no place of its own yet */
	if (err == -EINVAL && !refusal->line && !*refusal->where)
		snprintf(refusal->where, sizeof(refusal->where), "$.links");
	dag_machine_draft_end(&draft);
	json_decref(document);
	return err;
}
