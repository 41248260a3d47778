// SPDX-License-Identifier: GPL-2.0-or-later
#include "incidents.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "ended.h"
#include "tools/common/common.h"

#define INCIDENTS_S 10 /* a peer that is down is noticed later by one node than by another */

/* The members that have no column: hosts instead of codes. */
static bool incidents_is_apart(const char *key)
{
	static const char *const keys[] = { "time", "event", "node", "host",
					    "self", "id",    "at",   "row" };
	const size_t n = strlen(key);

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strcmp(key, keys[i]))
			return true;
	return n > 5 && !strcmp(key + n - 5, "_host");
}

/* In words; the caller frees it. */
static char *incidents_what(const json_t *event)
{
	const char *key, *space = "";
	json_t *value;
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	json_object_foreach((json_t *)event, key, value) {
		if (incidents_is_apart(key))
			continue;
		if (json_is_string(value) && *json_string_value(value))
			fprintf(out, "%s%s %s", space, key, client_host(event, key));
		else if (json_is_integer(value))
			fprintf(out, "%s%s %s", space, key, integer_of(event, key));
		else if (json_is_boolean(value))
			fprintf(out, "%s%s%s", space, json_is_true(value) ? "" : "not ", key);
		else
			continue;
		space = ", ";
	}
	fclose(out);
	return text;
}

static const char *incidents_node(const json_t *event)
{
	return client_host(event, json_object_get(event, "node") ? "node" : "self");
}

struct incidents {
	const json_t *events;
	bool *told; /* with an earlier one */
};

/* Whether b says what a does, of the same node. */
static bool incidents_are_one(const json_t *a, const json_t *b)
{
	char *says[] = { incidents_what(a), incidents_what(b) };
	const bool same = !strcmp(text_of(a, "event"), text_of(b, "event")) &&
			  !strcmp(incidents_node(a), incidents_node(b)) &&
			  strcmp(text_of(a, "self"), text_of(b, "self")) && says[0] && says[1] &&
			  !strcmp(says[0], says[1]);

	free(says[0]);
	free(says[1]);
	return same;
}

/* Marks those after the i-th that say the same, and returns how many nodes say it. */
static unsigned int incidents_tellers(struct incidents *in, size_t i)
{
	const json_t *event = json_array_get(in->events, i), *other;
	const double at = ended_seconds(text_of(event, "time"));
	unsigned int n = 1;

	for (size_t k = i + 1; k < json_array_size(in->events); k++) {
		other = json_array_get(in->events, k);
		if (ended_seconds(text_of(other, "time")) > at + INCIDENTS_S)
			break;
		if (in->told[k] || !incidents_are_one(event, other))
			continue;
		in->told[k] = true;
		n++;
	}
	return n;
}

void incidents_print(const json_t *document)
{
	struct incidents in = { json_object_get(document, "events"), NULL };
	const bool all = json_object_get(document, "silent");
	struct table *t = table_new("TIME", "NODE", "EVENT", "WHAT", "TOLD-BY", NULL);
	char start[ENDED_TEXT], tellers[32];
	const json_t *event;
	unsigned int n;
	char *what;
	size_t i;

	table_column(t, 3, TABLE_CUTS);
	table_column(t, 4, TABLE_SPARE);
	in.told = calloc(json_array_size(in.events) + 1, sizeof(*in.told));
	json_array_foreach((json_t *)in.events, i, event) {
		if (!in.told || in.told[i])
			continue;
		n = all ? incidents_tellers(&in, i) : 1;
		snprintf(tellers, sizeof(tellers), "%u nodes", n);
		what = incidents_what(event);
		table_row(t, ended_clock(text_of(event, "time"), start), incidents_node(event),
			  text_of(event, "event"), what && *what ? what : "-",
			  !all	  ? "-"
			  : n > 1 ? tellers
				  : client_host(event, "self"),
			  NULL);
		free(what);
	}
	free(in.told);
	table_print(t);
}
