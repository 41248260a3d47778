// SPDX-License-Identifier: GPL-2.0-or-later
#include "incidents.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "ended.h"
#include "event.h"
#include "past.h"
#include "tools/common/common.h"

#define INCIDENTS_S 10 /* a peer that is down is noticed later by one node than by another */
#define INCIDENTS_TELLERS 4 /* events that are asked for, of each line */

/* Those that have a column. */
static const char *const incidents_apart[] = {
	"time", "event", "node", "host", "self", "id", "at", "row", NULL,
};

/* What it is about. Each tells of its own place under a controller. */
static const char *incidents_node(const json_t *event)
{
	const bool own =
		!json_object_get(event, "node") || !strcmp(text_of(event, "event"), "controller");

	return client_host(event, own ? "self" : "node");
}

/* ---- what several tell ---- */

/* The line that says the same, and that this node has not told yet; NULL: none. */
static json_t *incidents_find(const json_t *last, const char *key, const json_t *event)
{
	json_t *line = json_object_get(last, key);

	return line && !json_object_get(json_object_get(line, "tellers"), text_of(event, "self")) &&
			       ended_seconds(text_of(event, "time")) <=
				       ended_seconds(text_of(line, "time")) + INCIDENTS_S
		       ? line
		       : NULL;
}

/* Lines with `time`, `node`, `event`, `what`, `by` and `tellers`. The caller frees them. */
static json_t *incidents_fold(const json_t *document)
{
	json_t *lines = json_array(), *last = json_object(), *line, *event;
	char *what, *key;
	size_t i;

	json_array_foreach(json_object_get(document, "events"), i, event) {
		what = event_what(event, incidents_apart);
		if (!what)
			continue;
		if (asprintf(&key, "%s %s %s", text_of(event, "event"), incidents_node(event),
			     what) >= 0) {
			line = incidents_find(last, key, event);
			if (!line) {
				line = json_pack("{s:s,s:s,s:s,s:s,s:s,s:{}}", "time",
						 text_of(event, "time"), "node",
						 incidents_node(event), "event",
						 text_of(event, "event"), "what",
						 *what ? what : "-", "by",
						 client_host(event, "self"), "tellers");
				json_array_append(lines, line);
				json_object_set_new(last, key, line);
			}
			json_object_set_new(json_object_get(line, "tellers"),
					    text_of(event, "self"), json_true());
			free(key);
		}
		free(what);
	}
	json_decref(last);
	return lines;
}

json_t *incidents_ask(json_t *ask, size_t most, int *code)
{
	const bool all = json_is_true(json_object_get(ask, "all"));
	size_t n = most, have = 0, events = 0, before;
	json_t *document = NULL, *lines;

	/* as long as that brings more: a list has an end, whatever nodes say */
	do {
		if (all)
			n *= INCIDENTS_TELLERS;
		before = events;
		json_decref(document);
		document = past_ask(json_deep_copy(ask), n, code);
		events = json_array_size(json_object_get(document, "events"));
		lines = incidents_fold(document);
		have = json_array_size(lines);
		json_decref(lines);
	} while (all && have < most && events > before &&
		 json_is_true(json_object_get(document, "more")));
	if (document && most && have > most)
		json_object_set_new(document, "more", json_true());
	json_decref(ask);
	return document;
}

void incidents_print(const json_t *document, size_t most)
{
	const bool all = json_object_get(document, "silent");
	struct table *t = table_new("TIME", "NODE", "EVENT", "WHAT", "TOLD-BY", NULL);
	json_t *lines = incidents_fold(document), *line;
	char start[ENDED_TEXT], tellers[32];
	size_t i, n;

	table_column(t, 3, TABLE_CUTS);
	table_column(t, 4, TABLE_SPARE);
	json_array_foreach(lines, i, line) {
		if (most && i + most < json_array_size(lines))
			continue;
		n = json_object_size(json_object_get(line, "tellers"));
		snprintf(tellers, sizeof(tellers), "%zu nodes", n);
		table_row(t, ended_clock(text_of(line, "time"), start), text_of(line, "node"),
			  text_of(line, "event"), text_of(line, "what"),
			  !all	  ? "-"
			  : n > 1 ? tellers
				  : text_of(line, "by"),
			  NULL);
	}
	table_print(t);
	json_decref(lines);
}
