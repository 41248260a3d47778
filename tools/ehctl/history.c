// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <errno.h>
#include <getopt.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "ended.h"
#include "cluster/shortid.h"
#include "history/csv.h"
#include "history/when.h"
#include "past.h"
#include "wire/reason.h"

#define HISTORY_TASKS 1000 /* unless -n says another number */

struct arguments {
	json_t *ask;
	uint64_t most;
	bool csv;
};

/* ---- arguments ---- */

static int take_time(struct arguments *a, const char *name, const char *text)
{
	time_t at;

	if (when_parse(text, time(NULL), &at))
		return bad_usage(
			"--%s %s: no such time; use 2h, today, 14:30 or \"2026-11-23 14:30\"", name,
			text);
	json_object_set_new(a->ask, name, json_integer((json_int_t)at * 1000));
	return 0;
}

static int take_user(struct arguments *a, const char *text)
{
	const struct passwd *user = getpwnam(text);
	uint64_t uid = user ? user->pw_uid : 0;

	if (!user && parse_count(text, UINT32_MAX - 1, &uid))
		return bad_usage("--user %s: no such user", text);
	json_object_set_new(a->ask, "uid", json_integer((json_int_t)uid));
	return 0;
}

static int take_reason(struct arguments *a, const char *text)
{
	enum ehs_reason reason;

	if (reason_parse(text, &reason))
		return bad_usage("--reason %s: no such reason; `ehctl status --json` names them",
				 text);
	json_object_set_new(a->ask, "reason", json_string(text));
	return 0;
}

static int take_text(struct arguments *a, const char *name, const char *text)
{
	json_t *value = json_string(text);

	if (!value)
		return bad_usage("--%s: not UTF-8", name);
	json_object_set_new(a->ask, name, value);
	return 0;
}

static int take(void *ctx, int option, const char *text)
{
	struct arguments *a = ctx;

	switch (option) {
	case 's':
		return take_time(a, "since", text);
	case 'u':
		return take_time(a, "until", text);
	case 'U':
		return take_user(a, text);
	case 'N':
		return take_text(a, "executor", text);
	case 'p':
		return take_text(a, "program", text);
	case 'r':
		return take_reason(a, text);
	case 'S':
		return take_text(a, "session", text);
	case 'f':
		json_object_set_new(a->ask, "failed", json_true());
		return 0;
	case 'a':
		json_object_set_new(a->ask, "all", json_true());
		return 0;
	case 'c':
		a->csv = true;
		return 0;
	case 'n':
		return parse_count(text, UINT32_MAX, &a->most)
			       ? bad_usage("-n %s: must be a number; 0: all", text)
			       : 0;
	default:
		return EXIT_USAGE;
	}
}

/* ---- the table ---- */

static void add_cpu(json_t *task)
{
	const json_t *user = json_object_get(task, "cpu_user");
	const json_t *system = json_object_get(task, "cpu_system");

	json_object_set_new(task, "cpu",
			    json_is_number(user) && json_is_number(system)
				    ? json_real(json_number_value(user) + json_number_value(system))
				    : json_null());
}

static void add_short(json_t *tasks)
{
	json_t *ids = json_array(), *task;
	size_t i;

	json_array_foreach(tasks, i, task)
		json_array_append(ids, json_object_get(task, "id"));
	/* Each is compared with all. */
	if (i <= HISTORY_TASKS)
		json_array_foreach(tasks, i, task)
			json_object_set_new(task, "short", shortid_make(ids, text_of(task, "id")));
	json_decref(ids);
}

static void print_table(json_t *tasks)
{
	struct table *t = table_new("ID", "START", "ELAPSED", "USER", "EXECUTOR", "EXIT", "CPU",
				    "MEM", "REASON", "SESSION", "COMMAND", NULL);
	static const unsigned int is[] = { 0,
					   TABLE_SPARE,
					   TABLE_RIGHT,
					   TABLE_CUTS,
					   TABLE_CUTS,
					   TABLE_CUTS,
					   TABLE_RIGHT | TABLE_SPARE,
					   TABLE_RIGHT | TABLE_SPARE,
					   TABLE_CUTS,
					   TABLE_CUTS | TABLE_SPARE,
					   TABLE_CUTS };
	char session[64], start[24], end[24];
	json_t *task;
	size_t i;

	for (unsigned int column = 0; column < sizeof(is) / sizeof(*is); column++)
		table_column(t, column, is[column]);
	add_short(tasks);
	json_array_foreach(tasks, i, task) {
		add_cpu(task);
		table_row(t, id_of(task), ended_start(task, start), duration_of(task, "elapsed"),
			  text_of(task, "user"), client_host(task, "executor"),
			  ended_how(task, end), duration_of(task, "cpu"), size_of(task, "memory"),
			  text_of(task, "reason"), client_session(task, session),
			  text_of(task, "command"), NULL);
	}
	table_print(t);
}

/* ---- CSV ---- */

static const char *const csv_columns[] = {
	"id",	     "session",	   "user",	"uid",	    "pid",	     "program",
	"arguments", "home",	   "home_host", "executor", "executor_host", "reason",
	"state",     "started",	   "ended",	"elapsed",  "exit",	     "signal",
	"cpu_user",  "cpu_system", "memory",	"bytes",
};
#define CSV_COLUMNS (sizeof(csv_columns) / sizeof(*csv_columns))

static int print_field(const char *text, bool last)
{
	size_t size = csv_field(NULL, 0, text) + 1;
	char *field = malloc(size);

	if (!field)
		return fail(EXIT_REFUSED, "out of memory");
	csv_field(field, size, text);
	fputs(field, stdout);
	fputs(last ? "\r\n" : ",", stdout);
	free(field);
	return EXIT_DONE;
}

/* Users choose names and arguments, and the reader of a spreadsheet with all of them may be root. */
static int print_text(const char *text, bool last)
{
	char *harmless = NULL;
	int code;

	if (csv_is_formula(text) && asprintf(&harmless, "'%s", text) < 0)
		return fail(EXIT_REFUSED, "out of memory");
	code = print_field(harmless ?: text, last);
	free(harmless);
	return code;
}

static int print_value(const json_t *value, bool last)
{
	char number[64] = "";

	if (json_is_string(value))
		return print_text(json_string_value(value), last);
	if (json_is_integer(value))
		snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT,
			 json_integer_value(value));
	else if (json_is_real(value))
		snprintf(number, sizeof(number), "%.6g", json_real_value(value));
	return print_field(number, last);
}

static int print_csv(const json_t *tasks)
{
	json_t *task;
	size_t i;
	int code = EXIT_DONE;

	for (size_t c = 0; c < CSV_COLUMNS && !code; c++)
		code = print_field(csv_columns[c], c + 1 == CSV_COLUMNS);
	json_array_foreach((json_t *)tasks, i, task)
		for (size_t c = 0; c < CSV_COLUMNS && !code; c++)
			code = print_value(json_object_get(task, csv_columns[c]),
					   c + 1 == CSV_COLUMNS);
	return code;
}

/* ---- the command ---- */

static int print_json(json_t *tasks, bool more)
{
	json_t *document =
		json_pack("{s:i,s:O,s:b}", "version", 1, "tasks", tasks, "more", (int)more);
	int code = json_print(document);

	json_decref(document);
	return code;
}

static int run(int argc, char **argv, bool json)
{
	static const struct option options[] = {
		{ "since", required_argument, NULL, 's' },
		{ "until", required_argument, NULL, 'u' },
		{ "user", required_argument, NULL, 'U' },
		{ "node", required_argument, NULL, 'N' },
		{ "program", required_argument, NULL, 'p' },
		{ "reason", required_argument, NULL, 'r' },
		{ "session", required_argument, NULL, 'S' },
		{ "failed", no_argument, NULL, 'f' },
		{ "all", no_argument, NULL, 'a' },
		{ "csv", no_argument, NULL, 'c' },
		{ "number", required_argument, NULL, 'n' },
		{ 0 },
	};
	struct arguments a = { .ask = json_object(), .most = HISTORY_TASKS };
	json_t *tasks = NULL;
	bool more = false;
	int code;

	/* The only short one: others would be taken for parts of one word. */
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "-n"))
			argv[i] = (char *)"--number";
	code = options_each(argc, argv, options, take, &a);
	if (!code && optind < argc)
		code = bad_argument(argv[optind]);
	if (!code && json && a.csv)
		code = bad_usage("--json and --csv: one of them");
	if (code) {
		json_decref(a.ask);
		return code;
	}
	tasks = past_ask(a.ask, a.most, &more, &code);
	if (!tasks)
		return code;
	if (json) {
		code = print_json(tasks, more);
	} else if (a.csv) {
		code = print_csv(tasks);
	} else {
		print_table(tasks);
		code = EXIT_DONE;
	}
	if (more && !json)
		fprintf(stderr, "ehctl history: older tasks are left out; -n 0 shows all\n");
	json_decref(tasks);
	return code;
}

const struct command history_command = {
	.name = "history",
	.arguments = "[--since TIME] [--until TIME] [--user USER] [--node NODE] [--program NAME] "
		     "[--reason REASON] [--session NAME] [--failed] [-n N] [--csv] [--json]",
	.help = "list tasks of this node that were placed, the newest last\n\n"
		"Also those that have ended, and those of before the agent was last started.\n"
		"Tasks that the module kept here without asking the agent are not among them.\n"
		"  --since, --until TIME  started then or later; before then. TIME is 30s, 2h or 3d\n"
		"                     (ago), today, yesterday, 14:30, 2026-11-23 or\n"
		"                     \"2026-11-23 14:30\"; local time, or UTC with a Z behind it\n"
		"  --user USER        a name or a number\n"
		"  --node NODE        that ran there: a host or a code\n"
		"  --program NAME     a path, or its last part\n"
		"  --reason REASON    as `ehctl why` names it\n"
		"  --session NAME     as it was given with `ehctl run -n`\n"
		"  --failed           lost, refused, or ended with a status other than 0\n"
		"  -n, --number N     the last N; 0: all. Default: 1000\n"
		"  --csv              comma-separated values (RFC 4180)\n"
		"EXIT is an exit status, a signal, or what became of the task: away and here (it\n"
		"runs), lost, refused (it did not run), unknown. Users see their own tasks; root\n"
		"and members of `history-group` (ehagent.conf(5)) see all.",
	.run = run,
};
