// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "cluster/naming.h"
#include "cluster/setting.h"

static int bad_setting(const char *name)
{
	struct naming_nearest n = { .wanted = name };
	char names[SETTING_NAMES];

	for (unsigned int i = 0; i < SETTINGS; i++)
		naming_try(&n, settings[i].name);
	setting_names(names);
	if (!n.best)
		return bad_usage("%s: no such setting; there are %s", name, names);
	return bad_usage("%s: no such setting; did you mean %s? There are %s", name, n.best, names);
}

/* Numbers are sent as numbers, words as strings; the agent checks the limits. */
static json_t *value_of(const struct setting *setting, const char *text)
{
	char *end;
	double number = strtod(text, &end);

	/* rounded by hand, so that ehctl need not load libm at each start */
	if (setting->scale && *text && !*end && number > -1e12 && number < 1e12)
		return json_integer(number * setting->scale + (number < 0 ? -0.5 : 0.5));
	return json_string(text);
}

/* A value of a reply: tasks as 2.0 or 0.125, milliseconds as 50, or a word. */
static const char *shown(const json_t *of, const char *member, char out[32])
{
	const json_t *value = json_object_get(of, member);

	if (!json_is_real(value))
		return json_is_string(value) ? text_of(of, member) : integer_of(of, member);
	snprintf(out, 32, "%.3f", json_real_value(value));
	for (char *at = out + strlen(out) - 1; *at == '0' && at[-1] != '.'; at--)
		*at = '\0';
	return out;
}

/* An agent of before does not say what has changed. */
static void print_changes(const json_t *reply)
{
	json_t *s;
	size_t i;

	json_array_foreach(json_object_get(reply, "settings"), i, s) {
		char before[32], value[32];
		const char *was = shown(s, "before", before), *is = shown(s, "value", value);

		if (json_equal(json_object_get(s, "before"), json_object_get(s, "value")))
			printf("%s: %s, unchanged\n", text_of(s, "name"), is);
		else
			printf("%s: %s -> %s\n", text_of(s, "name"), was, is);
	}
}

static int run(int argc, char **argv, bool json)
{
	json_t *request, *reply;
	int code;

	if (argc < 2)
		return bad_usage("a setting is required");
	request = json_pack("{s:s}", "command", "set");
	for (int i = 1; i < argc; i++) {
		char *equals = strchr(argv[i], '=');
		const struct setting *setting;

		if (!equals || !equals[1]) {
			json_decref(request);
			return bad_usage("%s: must have the form NAME=VALUE", argv[i]);
		}
		*equals = '\0';
		setting = setting_find(argv[i]);
		if (!setting || json_object_get(request, argv[i])) {
			json_decref(request);
			return setting ? bad_usage("%s: given twice", argv[i])
				       : bad_setting(argv[i]);
		}
		if (json_object_set_new(request, argv[i], value_of(setting, equals + 1))) {
			json_decref(request);
			return bad_usage("%s: the value is not UTF-8", argv[i]);
		}
	}
	reply = client_ask(request, &code);
	if (reply && json)
		code = json_print(reply);
	else if (reply)
		print_changes(reply);
	json_decref(reply);
	return code;
}

const struct command set_command = {
	.name = "set",
	.arguments = "NAME=VALUE…",
	.help = "change settings of this node\n\n"
		"  threshold=TASKS\n"
		"  length=TASKS     the threshold length\n"
		"  load-index=runnable|tasks|cpu\n"
		"  weight=TASKS     load of one task under the load index `tasks`\n"
		"  time-limit=MS    longest time that an exec waits for a verdict\n"
		"  dwell=MS         how long its load must be below threshold - length before the node\n"
		"                   becomes a receiver\n"
		"Prints what each was and is. Either all settings change or none. A controller\n"
		"may move the threshold again later. `ehctl get` shows them.",
	.run = run,
};

static bool wanted(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(name, argv[i]))
			return true;
	return argc == 1;
}

static void print_settings(const json_t *list)
{
	struct table *t = table_new("SETTING", "VALUE", "UNIT", "MAY BE", NULL);
	json_t *s, *word;
	size_t i, j;

	table_column(t, 1, TABLE_RIGHT);
	json_array_foreach((json_t *)list, i, s) {
		char value[32], may[128] = "";

		json_array_foreach(json_object_get(s, "choices"), j, word)
			snprintf(may + strlen(may), sizeof(may) - strlen(may), "%s%s", j ? "|" : "",
				 json_string_value(word) ?: "");
		if (json_is_number(json_object_get(s, "min")))
			snprintf(may, sizeof(may), "%.15g to %.15g",
				 json_number_value(json_object_get(s, "min")),
				 json_number_value(json_object_get(s, "max")));
		table_row(t, text_of(s, "name"), shown(s, "value", value), text_of(s, "unit"), may,
			  NULL);
	}
	table_print(t);
}

static int run_get(int argc, char **argv, bool json)
{
	json_t *reply, *list;
	int code;

	for (int i = 1; i < argc; i++)
		if (!setting_find(argv[i]))
			return bad_setting(argv[i]);
	reply = client_ask(json_pack("{s:s}", "command", "get"), &code);
	list = json_object_get(reply, "settings");
	for (size_t i = json_array_size(list); i-- > 0;)
		if (!wanted(text_of(json_array_get(list, i), "name"), argc, argv))
			json_array_remove(list, i);
	if (reply && json)
		code = json_print(reply);
	else if (reply)
		print_settings(list);
	json_decref(reply);
	return code;
}

const struct command get_command = {
	.name = "get",
	.arguments = "[NAME…] [--json]",
	.help = "show the settings of this node\n\n"
		"All that `ehctl set` changes, or those that are named, with the values that\n"
		"each may have.",
	.run = run_get,
};
