// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "event.h"
#include "whole.h"

struct arguments {
	struct event_filter filter;
	bool all, json;
};

static const struct option_row table[] = {
	{ "all", OPTION_FLAG, offsetof(struct arguments, all),
	  .help = "those of all nodes, looked for each second" },
	{ "event", OPTION_TEXT, offsetof(struct arguments, filter.event), "NAME",
	  .help = "only these, such as place, finish or peer" },
	{ "node", OPTION_TEXT, offsetof(struct arguments, filter.node), "NODE",
	  .help = "only what has to do with this host or code" },
	{ "program", OPTION_TEXT, offsetof(struct arguments, filter.program), "NAME",
	  .help = "only of tasks that run this" },
	{ "user", OPTION_TEXT, offsetof(struct arguments, filter.user), "USER",
	  .help = "only of tasks of this user: a name or a number" },
	{ 0 },
};

/* False: nobody reads it. */
static bool tell(const struct arguments *a, json_t *event, int *code)
{
	if (json_object_get(event, "uid"))
		client_add_user(event);
	if (!event_is_wanted(&a->filter, event))
		return true;
	if (a->json)
		*code = json_print(event);
	else
		event_print(event, a->all);
	/* SIGPIPE ends us when the reader has gone; other write errors do so here */
	return !fflush(stdout) && !ferror(stdout);
}

/* ---- of this node: as they come ---- */

static int watch_own(const struct arguments *a)
{
	bool end = false, read = true;
	json_t *event;
	int fd, code = EXIT_REFUSED;

	fd = client_connect(false);
	if (fd < 0)
		return EXIT_REFUSED;
	if (client_send(fd, json_pack("{s:s}", "command", "watch")))
		goto close_fd;
	while (read && (event = client_receive(fd, &code, &end))) {
		read = tell(a, event, &code);
		json_decref(event);
	}
	if (end)
		code = fail(EXIT_REFUSED, "the agent has ended");
close_fd:
	close(fd);
	return code;
}

/* ---- of all nodes: looked for ---- */

struct looks {
	const struct arguments *arguments;
	struct recent recent;
	json_t *missing; /* codes of the nodes that did not tell anything in the last one */
	bool read; /* somebody reads what is told */
	int *code;
};

static bool tell_new(void *ctx, json_t *event)
{
	struct looks *l = ctx;

	l->read = tell(l->arguments, event, l->code);
	return l->read;
}

static void add_codes(json_t *codes, const json_t *nodes)
{
	const json_t *node;
	size_t i;

	json_array_foreach((json_t *)nodes, i, node)
		json_object_set_new(codes, text_of(node, "node"), json_true());
}

/* Says which nodes are missing when that changes. */
static void tell_missing(struct looks *l, const json_t *reply)
{
	json_t *missing = json_object();

	add_codes(missing, json_object_get(reply, "silent"));
	add_codes(missing, json_object_get(reply, "refused"));
	if ((json_object_size(missing) && !json_equal(missing, l->missing)) ||
	    json_is_true(json_object_get(reply, "more")))
		whole_print_missing(reply, true);
	json_decref(l->missing);
	l->missing = missing;
}

static int watch_all(const struct arguments *a)
{
	const struct timespec pause = { RECENT_EACH_S, 0 };
	int code = EXIT_DONE;
	struct looks l = { .arguments = a, .read = true, .code = &code };
	json_t *reply = NULL;

	if (!recent_begin(&l.recent))
		return fail(EXIT_REFUSED, "out of memory");
	while (l.read && (reply = client_ask(recent_question(&l.recent), &code))) {
		tell_missing(&l, reply);
		recent_take(&l.recent, reply, tell_new, &l);
		json_decref(reply);
		if (l.read)
			nanosleep(&pause, NULL);
	}
	recent_end(&l.recent);
	json_decref(l.missing);
	return code;
}

static int check(const struct arguments *a)
{
	const struct event_filter *f = &a->filter;
	const char *names = f->event ? event_unknown(f->event) : NULL;
	uint64_t uid;

	if (names)
		return bad_usage("--event %s: must be one of %s", f->event, names);
	/* a user elsewhere may have no account here */
	if (f->user && !a->all && !client_is_user(f->user, &uid))
		return bad_usage("--user %s: no such user", f->user);
	return f->node ? client_check_node(f->node) : 0;
}

static int run(int argc, char **argv, bool json)
{
	struct arguments a = { .json = json };
	int code = options_parse(argc, argv, table, &a);

	if (!code && optind < argc)
		code = bad_argument(argv[optind]);
	if (!code)
		code = check(&a);
	if (code)
		return code;
	return a.all ? watch_all(&a) : watch_own(&a);
}

const struct command watch_command = {
	.name = "watch",
	.arguments = "[--all] [--event NAME] [--node NODE] [--program NAME] [--user USER] [--json]",
	.help = "show events, one per line, until interrupted\n\n"
		"Events are state changes, placements, ends of tasks, thresholds, peers,\n"
		"controllers, drains, and what becomes of agents and the module. Times are local,\n"
		"with --json UTC.\n"
		"  --all           those of all nodes, looked for each second; else of this one\n"
		"  --event NAME    only these, such as place, finish or peer\n"
		"  --node NODE     only what has to do with this host or code\n"
		"  --program NAME  only of tasks that run this\n"
		"  --user USER     only of tasks of this user: a name or a number\n"
		"Users see events of their own tasks, root and members of `admin-group` those of\n"
		"all.",
	.run = run,
};
