// SPDX-License-Identifier: GPL-2.0-or-later
#include "groups.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "client.h"
#include "ended.h"
#include "past.h"
#include "sheet.h"
#include "tools/common/common.h"

json_int_t groups_offset(void)
{
	const time_t now = time(NULL);
	struct tm tm;

	return localtime_r(&now, &tm) ? (json_int_t)tm.tm_gmtoff * 1000 : 0;
}

json_t *groups_ask(json_t *ask, const char *by, uint64_t most, int *code)
{
	json_t *document, *groups, *ordered, *group;
	const bool hours = !strcmp(by, "hour");
	size_t i;

	json_object_set_new(ask, "offset", json_integer(groups_offset()));
	document = past_groups(ask, by, code);
	if (!document)
		return NULL;
	groups = json_object_get(document, "groups");
	ordered = json_array();
	json_array_foreach(groups, i, group) {
		if (most && i == most) {
			json_object_set_new(document, "more", json_true());
			break;
		}
		json_object_set_new(group, "elapsed",
				    json_real(ended_between(text_of(group, "started"),
							    text_of(group, "last"))));
		if (hours)
			json_array_insert(ordered, 0, group);
		else
			json_array_append(ordered, group);
	}
	json_object_set_new(document, "groups", ordered);
	/* it is of the file of one node */
	json_object_del(document, "dropped");
	return document;
}

/* ---- tables ---- */

static const char *groups_share(const json_t *group, char out[16])
{
	const double tasks = json_number_value(json_object_get(group, "tasks"));

	snprintf(out, 16, "%.0f%%",
		 tasks > 0 ? 100 * json_number_value(json_object_get(group, "away")) / tasks : 0);
	return out;
}

static const char *groups_end(const json_t *session, char out[ENDED_TEXT])
{
	const char *how = ended_how(session, out);

	return strcmp(how, "-") || !json_integer_value(json_object_get(session, "running"))
		       ? how
		       : "runs";
}

static void groups_print_sessions(const json_t *groups, bool all)
{
	struct table *t = table_new("SESSION", "HOME", "START", "ELAPSED", "TASKS", "AWAY",
				    "CPU-AWAY", "LOST", "EXIT", NULL);
	char start[ENDED_TEXT], share[16], end[ENDED_TEXT];
	const json_t *one;
	size_t i;

	table_column(t, 0, TABLE_CUTS);
	table_column(t, 1, TABLE_SPARE);
	for (unsigned int column = 3; column < 8; column++)
		table_column(t, column, TABLE_RIGHT);
	json_array_foreach((json_t *)groups, i, one)
		table_row(t, text_of(one, "key"), all ? client_host(one, "home") : "-",
			  ended_clock(text_of(one, "started"), start), duration_of(one, "elapsed"),
			  integer_of(one, "tasks"), groups_share(one, share),
			  duration_of(one, "cpu_away"), integer_of(one, "lost"),
			  groups_end(one, end), NULL);
	table_print(t);
}

static const char *groups_name(const json_t *group, const char *by, char out[ENDED_TEXT])
{
	if (!strcmp(by, "hour"))
		return ended_clock(text_of(group, "key"), out);
	return !strcmp(by, "node") ? client_host(group, "executor") : text_of(group, "key");
}

void groups_print(const json_t *document, const char *by)
{
	const json_t *groups = json_object_get(document, "groups"), *one;
	char heading[16], name[ENDED_TEXT], start[ENDED_TEXT], share[16];
	struct table *t;
	size_t i;

	if (!strcmp(by, "session")) {
		groups_print_sessions(groups, json_object_get(document, "silent"));
		return;
	}
	for (i = 0; by[i] && i + 1 < sizeof(heading); i++)
		heading[i] = (char)toupper(by[i]);
	heading[i] = '\0';
	t = table_new(heading, "TASKS", "AWAY", "CPU-AWAY", "FAILED", "LOST", "START", "ELAPSED",
		      NULL);
	table_column(t, 0, TABLE_CUTS);
	for (unsigned int column = 1; column < 6; column++)
		table_column(t, column, TABLE_RIGHT);
	table_column(t, 7, TABLE_RIGHT);
	json_array_foreach((json_t *)groups, i, one)
		table_row(t, groups_name(one, by, name), integer_of(one, "tasks"),
			  groups_share(one, share), duration_of(one, "cpu_away"),
			  integer_of(one, "failed"), integer_of(one, "lost"),
			  ended_clock(text_of(one, "started"), start), duration_of(one, "elapsed"),
			  NULL);
	table_print(t);
}

int groups_print_csv(const json_t *document)
{
	static const char *const columns[] = {
		"key",	"user",	    "home",   "home_host", "executor_host", "tasks",
		"away", "cpu_away", "failed", "lost",	   "running",	    "started",
		"last", "elapsed",  "exit",   "signal",
	};

	return sheet_print(json_object_get(document, "groups"), columns,
			   sizeof(columns) / sizeof(*columns));
}
