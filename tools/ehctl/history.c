// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "client.h"
#include "cluster/shortid.h"
#include "ended.h"
#include "groups.h"
#include "history/when.h"
#include "incidents.h"
#include "past.h"
#include "sheet.h"
#include "timeline.h"
#include "wire/reason.h"

#define HISTORY_TASKS 1000 /* unless -n says another number */

struct arguments {
	json_t *ask;
	uint64_t most;
	const char *by, *plot, *node, *program, *session, *number;
	bool failed, all, csv, events;
};

/* ---- arguments ---- */

static int take_time(const struct arguments *a, const char *name, const char *text)
{
	time_t at;

	if (when_parse(text, time(NULL), &at))
		return -1;
	return json_object_set_new(a->ask, name, json_integer((json_int_t)at * 1000));
}

static int take_since(void *arguments, const char *text)
{
	return take_time(arguments, "since", text);
}

static int take_until(void *arguments, const char *text)
{
	return take_time(arguments, "until", text);
}

static int take_user(void *arguments, const char *text)
{
	const struct arguments *a = arguments;
	uint64_t uid = 0;

	if (!client_is_user(text, &uid))
		return -1;
	return json_object_set_new(a->ask, "uid", json_integer((json_int_t)uid));
}

static int take_reason(void *arguments, const char *text)
{
	const struct arguments *a = arguments;
	enum ehs_reason reason;

	if (reason_parse(text, &reason))
		return -1;
	return json_object_set_new(a->ask, "reason", json_string(text));
}

static const char no_time[] = "no such time; use 2h, today, 14:30 or \"2026-11-23 14:30\"";

static const struct option_row table[] = {
	{ "since", OPTION_OWN, .value = "TIME", .take = take_since, .wanted = no_time },
	{ "until", OPTION_OWN, .value = "TIME", .take = take_until, .wanted = no_time },
	{ "user", OPTION_OWN, .value = "USER", .take = take_user, .wanted = "no such user" },
	{ "reason", OPTION_OWN, .value = "REASON", .take = take_reason,
	  .wanted = "no such reason; `ehctl status --json` names them" },
	{ "node", OPTION_TEXT, .at = offsetof(struct arguments, node), .value = "NODE" },
	{ "program", OPTION_TEXT, .at = offsetof(struct arguments, program), .value = "NAME" },
	{ "session", OPTION_TEXT, .at = offsetof(struct arguments, session), .value = "NAME" },
	{ "failed", OPTION_FLAG, .at = offsetof(struct arguments, failed) },
	{ "all", OPTION_FLAG, .at = offsetof(struct arguments, all) },
	{ "by", OPTION_TEXT, .at = offsetof(struct arguments, by), .value = GROUPS_BY,
	  .wanted = "must be one of " GROUPS_BY },
	{ "events", OPTION_FLAG, .at = offsetof(struct arguments, events) },
	{ "plot", OPTION_TEXT, .at = offsetof(struct arguments, plot), .value = "FILE" },
	{ "csv", OPTION_FLAG, .at = offsetof(struct arguments, csv) },
	{ "number", OPTION_TEXT, .at = offsetof(struct arguments, number), .value = "N" },
	{ 0 },
};

static int add_text(const struct arguments *a, const char *name, const char *text)
{
	return text && json_object_set_new(a->ask, name, json_string(text))
		       ? bad_usage("--%s: not UTF-8", name)
		       : 0;
}

/* Adds what is asked besides times, user and reason. An exit code. */
static int add_all(struct arguments *a)
{
	int code = add_text(a, "executor", a->node) ?: add_text(a, "program", a->program)
		   ?: add_text(a, "session", a->session);

	if (a->failed)
		json_object_set_new(a->ask, "failed", json_true());
	if (a->all)
		json_object_set_new(a->ask, "all", json_true());
	if (a->events)
		json_object_set_new(a->ask, "events", json_true());
	if (!code && a->number && parse_count(a->number, UINT32_MAX, &a->most))
		code = bad_usage("-n %s: must be a number; 0: all", a->number);
	return code;
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

static void print_table(const json_t *document)
{
	struct table *t = table_new("ID", "START", "ELAPSED", "USER", "HOME", "EXECUTOR", "EXIT",
				    "CPU", "MEM", "REASON", "SESSION", "COMMAND", NULL);
	static const unsigned int is[] = { 0,
					   TABLE_SPARE,
					   TABLE_RIGHT,
					   TABLE_CUTS,
					   TABLE_CUTS | TABLE_SPARE,
					   TABLE_CUTS,
					   0,
					   TABLE_RIGHT | TABLE_SPARE,
					   TABLE_RIGHT | TABLE_SPARE,
					   TABLE_CUTS,
					   TABLE_CUTS | TABLE_SPARE,
					   TABLE_CUTS };
	const bool all = json_object_get(document, "silent");
	char session[SESSION_NAME], start[ENDED_TEXT], end[ENDED_TEXT];
	json_t *tasks = json_object_get(document, "tasks"), *task;
	size_t i;

	for (unsigned int column = 0; column < sizeof(is) / sizeof(*is); column++)
		table_column(t, column, is[column]);
	add_short(tasks);
	json_array_foreach(tasks, i, task) {
		add_cpu(task);
		table_row(t, id_of(task), ended_clock(text_of(task, "started"), start),
			  duration_of(task, "elapsed"), text_of(task, "user"),
			  all ? client_host(task, "home") : "-", client_host(task, "executor"),
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

/* ---- the command ---- */

enum form { FORM_TABLE, FORM_JSON, FORM_CSV };

static int show_tasks(const json_t *document, size_t most, enum form form)
{
	if (form == FORM_JSON)
		return json_print(document);
	if (json_object_get(document, "events")) {
		incidents_print(document, most);
		return EXIT_DONE;
	}
	if (form == FORM_CSV)
		return sheet_print(json_object_get(document, "tasks"), csv_columns, CSV_COLUMNS);
	print_table(document);
	return EXIT_DONE;
}

static int show_groups(const json_t *document, const char *by, enum form form)
{
	if (form == FORM_JSON)
		return json_print(document);
	if (form == FORM_CSV)
		return groups_print_csv(document);
	groups_print(document, by);
	return EXIT_DONE;
}

/* `ask` is taken over by what asks. */
static int show(const struct arguments *a, enum form form)
{
	json_t *document;
	int code;

	if (a->by)
		document = groups_ask(a->ask, a->by, a->most, &code);
	else if (a->events && form != FORM_JSON)
		document = incidents_ask(a->ask, a->most, &code);
	else
		document = past_ask(a->ask, a->most, &code);
	if (!document)
		return code;
	code = a->by ? show_groups(document, a->by, form) : show_tasks(document, a->most, form);
	if (json_is_true(json_object_get(document, "more")) && form != FORM_JSON)
		fail(0, a->by ? "groups with less CPU time, or of earlier hours, are left out"
			      : "older ones are left out; -n 0 shows all");
	json_decref(document);
	return code;
}

static int check_events(const struct arguments *a)
{
	static const char *const of_tasks[] = { "uid", "program", "reason", "session", "failed" };
	bool wrong = a->by || a->plot || a->csv;

	for (size_t i = 0; i < sizeof(of_tasks) / sizeof(*of_tasks); i++)
		wrong |= json_object_get(a->ask, of_tasks[i]) != NULL;
	return wrong ? bad_usage(
			       "--events: only with --since, --until, --node, --all, -n and --json")
		     : 0;
}

static int run(int argc, char **argv, bool json)
{
	struct arguments a = { .ask = json_object(), .most = HISTORY_TASKS };
	int code;

	/* The only short one: others would be taken for parts of one word. */
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "-n"))
			argv[i] = (char *)"--number";
	code = options_parse(argc, argv, table, &a) ?: add_all(&a);
	if (!code && optind < argc)
		code = bad_argument(argv[optind]);
	if (!code && json + a.csv + !!a.plot > 1)
		code = bad_usage("--json, --csv and --plot: one of them");
	if (!code && a.plot && a.by)
		code = bad_usage("--by and --plot: one of them");
	if (!code && a.events)
		code = check_events(&a);
	if (!code && a.node)
		code = client_check_node(a.node);
	if (code) {
		json_decref(a.ask);
		return code;
	}
	if (a.plot)
		return timeline_draw(a.ask, a.plot);
	return show(&a, json ? FORM_JSON : a.csv ? FORM_CSV : FORM_TABLE);
}

const struct command history_command = {
	.name = "history",
	.arguments = "[--since TIME] [--until TIME] [--user USER] [--node NODE] [--program NAME] "
		     "[--reason REASON] [--session NAME] [--failed] [--all] [--by WHAT] [-n N] "
		     "[--plot FILE] [--events] [--csv] [--json]",
	.help = "list tasks of this node that were placed, the newest last\n\n"
		"Also those that have ended, and those of before the agent was last started.\n"
		"Tasks that the module kept here without asking the agent are not among them.\n"
		"  --since, --until TIME\n"
		"                     started then or later; before then. TIME is 30s, 2h or 3d\n"
		"                     (ago), today, yesterday, 14:30, 2026-11-23 or\n"
		"                     \"2026-11-23 14:30\"; local time, or UTC with a Z behind it\n"
		"  --user USER        a name or a number\n"
		"  --node NODE        that ran there: a host or a code; one that is not known now\n"
		"                     is named\n"
		"  --program NAME     a path, or its last part\n"
		"  --reason REASON    as `ehctl why` names it\n"
		"  --session NAME     as it was given with `ehctl run -n`\n"
		"  --failed           lost, refused, or ended with a status other than 0\n"
		"  --all              tasks of all nodes; a node that does not answer, or tells\n"
		"                     nothing, is named\n"
		"  --by WHAT          add tasks up: one line for each user, session, program, node\n"
		"                     (that they ran on), reason or hour; those with the most CPU\n"
		"                     time first, hours in their order. CPU-AWAY is what tasks used\n"
		"                     on other nodes; of those that stayed it is not measured.\n"
		"                     Tasks of no session are on no line of `session`.\n"
		"                     ELAPSED is from the first start to the last end\n"
		"  -n, --number N     the last N, or the first N lines of --by; 0: all.\n"
		"                     Default: 1000\n"
		"  --plot FILE        draw how many ran elsewhere and stayed over time, into an SVG\n"
		"                     file, with gnuplot\n"
		"  --events           instead of tasks what happened to nodes: peers up and down,\n"
		"                     controllers, drain, start and stop, reload, ehlaunch and the\n"
		"                     module; with --since, --until, --node, --all and -n. What\n"
		"                     several nodes tell is one line\n"
		"  --csv              comma-separated values (RFC 4180)\n"
		"EXIT is an exit status, a signal, or what became of the task: away and here (it\n"
		"runs), lost, refused (it did not run), unknown; of a session, that of its command,\n"
		"if it is known. Users see their own tasks; root and members of `history-group`\n"
		"(ehagent.conf(5)) see all, of other nodes those of users who could be guests from\n"
		"here there. With --all, users are known by their names.",
	.run = run,
};
