// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ehctl.h"

/* Numbers go as numbers, words as strings; the agent knows the limits. */
static json_t *value_of(const char *text)
{
	char *end;
	double number = strtod(text, &end);

	if (*text && !*end && isfinite(number))
		return json_real(number);
	return json_string(text);
}

static int run(int argc, char **argv, bool json)
{
	static const char *const names[] = { "threshold", "length", "load-index",
					     "weight",	  "time-limit", "dwell" };
	json_t *request, *reply;
	int code;

	if (argc < 2)
		return bad_usage("what is to be set?");
	request = json_pack("{s:s}", "command", "set");
	for (int i = 1; i < argc; i++) {
		char *equals = strchr(argv[i], '=');
		bool known = false;

		if (!equals || !equals[1]) {
			json_decref(request);
			return bad_usage("%s: NAME=VALUE is needed", argv[i]);
		}
		*equals = '\0';
		for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++)
			known |= !strcmp(argv[i], names[j]);
		if (!known || json_object_get(request, argv[i])) {
			json_decref(request);
			return bad_usage("%s: %s", argv[i], known ? "given twice" : "no such setting");
		}
		if (json_object_set_new(request, argv[i], value_of(equals + 1))) {
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
	.help = "change this node\n\n"
		"  threshold=TASKS  length=TASKS  load-index=runnable|tasks|cpu\n"
		"  weight=TASKS     load of one task under load index tasks\n"
		"  time-limit=MS    an exec waits at most as long for a verdict\n"
		"  dwell=MS         below the threshold before the node is a receiver\n"
		"All or nothing; a controller may move the threshold again.",
	.run = run,
};
