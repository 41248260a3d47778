// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <stdio.h>
#include <string.h>

#include "client.h"
#include "ended.h"
#include "outcome.h"
#include "tools/common/table.h"

static void why_print_steps(const json_t *reply)
{
	const json_t *step;
	size_t i;

	json_array_foreach((json_t *)json_object_get(reply, "steps"), i, step)
		printf("  %8s ms  %s\n", decimal_of(step, "at_ms"), text_of(step, "what"));
}

/* An agent of an earlier version says nothing of it. */
static void why_print_timing(const json_t *timing)
{
	const json_t *steps = json_object_get(timing, "steps"), *step;
	const json_t *within = json_object_get(timing, "within_us");
	struct table *t;
	size_t i;

	if (json_array_size(steps)) {
		t = table_new("US", "+US", "HOST", "PROCESS", "STEP", NULL);
		table_column(t, 0, TABLE_RIGHT);
		table_column(t, 1, TABLE_RIGHT);
		json_array_foreach((json_t *)steps, i, step)
			table_row(t, integer_of(step, "at_us"), integer_of(step, "after_us"),
				  client_host(step, "node"), text_of(step, "process"),
				  text_of(step, "what"), NULL);
		table_print(t);
	}
	if (json_is_integer(within))
		printf("The executor's clock is not home's: its steps may be wrong by %" JSON_INTEGER_FORMAT
		       " us,\nall by the same.\n",
		       json_integer_value(within));
	if (!timing)
		printf("The agent is of an earlier version, and does not say when the steps were.\n");
	else if (json_is_string(json_object_get(timing, "missing")))
		printf("Not shown: %s.\n", text_of(timing, "missing"));
}

static int why_session(const char *name, bool json)
{
	char what[256], start[ENDED_TEXT];
	json_t *outcome;
	int code;

	outcome = outcome_ask_last(name, &code);
	if (!outcome)
		return code;
	if (json) {
		code = json_print(outcome);
	} else {
		snprintf(what, sizeof(what), "%s of %s, from %s on", text_of(outcome, "session"),
			 text_of(outcome, "user"), ended_clock(text_of(outcome, "started"), start));
		outcome_print(stdout, what, "  ", outcome);
		if (json_integer_value(json_object_get(outcome, "earlier")))
			printf("  the last of %" JSON_INTEGER_FORMAT
			       " sessions of this name; `ehctl "
			       "history --by session` lists them\n",
			       1 + json_integer_value(json_object_get(outcome, "earlier")));
	}
	json_decref(outcome);
	return code;
}

static int run(int argc, char **argv, bool json)
{
	bool timing = false, session = false;
	const char *id = NULL;
	json_t *reply, *ask;
	int code;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--timing"))
			timing = true;
		else if (!strcmp(argv[i], "--session"))
			session = true;
		else if (argv[i][0] == '-')
			return bad_argument(argv[i]);
		else if (id)
			return bad_usage("one ID at a time");
		else
			id = argv[i];
	}
	if (!id)
		return bad_usage(session ? "a NAME is required" : "an ID is required");
	if (session && timing)
		return bad_usage("--timing is of one task, not of a session");
	if (session)
		return why_session(id, json);
	ask = json_pack("{s:s, s:s}", "command", "why", "id", id);
	if (timing)
		json_object_set_new(ask, "timing", json_true());
	reply = client_ask_text(ask, json, &code);
	if (!reply)
		return code;
	printf("%s (%s)\n  home %s, executor %s\n  %s: %s\n", text_of(reply, "id"),
	       text_of(reply, "command"), client_host(reply, "home"),
	       client_host(reply, "executor"), text_of(reply, "reason"), text_of(reply, "text"));
	if (timing)
		why_print_timing(json_object_get(reply, "timing"));
	else
		why_print_steps(reply);
	if (!strcmp(text_of(reply, "state"), "unknown"))
		printf("  How it ended is not known: no agent saw it.\n");
	/* Only the history says so. */
	if (json_is_string(json_object_get(reply, "ended")))
		printf("  from %s to %s\n", text_of(reply, "started"), text_of(reply, "ended"));
	json_decref(reply);
	return EXIT_DONE;
}

const struct command why_command = {
	.name = "why",
	.arguments = "[--timing] ID | --session NAME [--json]",
	.help = "explain why a task runs where it runs\n\n"
		"ID is an ID that `ehctl tasks` or `ehctl history` lists, or the process ID\n"
		"of one of the last 1024 placements.\n"
		"--timing        when each step of it was, in microseconds, here and on its executor\n"
		"--session NAME  what `ehctl run --report` says, of a session that was started here:\n"
		"                the last one of this name, or NAME.PID.NUMBER",
	.run = run,
};
