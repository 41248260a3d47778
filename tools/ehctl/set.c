// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "cluster/naming.h"

struct setting {
	const char *name;
	double scale; /* the agent gets whole thousandths, or milliseconds; 0: a word */
};

static const struct setting settings[] = {
	{ "threshold", 1000 }, { "length", 1000 },  { "weight", 1000 },
	{ "load-index", 0 },   { "time-limit", 1 }, { "dwell", 1 },
};

static const struct setting *find_setting(const char *name)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (!strcmp(name, settings[i].name))
			return &settings[i];
	return NULL;
}

static int bad_setting(const char *name)
{
	struct naming_nearest n = { .wanted = name };

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		naming_try(&n, settings[i].name);
	if (!n.best)
		return bad_usage("%s: no such setting", name);
	return bad_usage("%s: no such setting; did you mean %s?", name, n.best);
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
		setting = find_setting(argv[i]);
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
		"Either all settings change or none. A controller may move the threshold\n"
		"again later.",
	.run = run,
};
