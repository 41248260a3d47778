// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

#define LOOK_MS 500 /* between two looks at what is left */

struct arguments {
	bool wait;
	const char *reason;
};

static const struct option_row table[] = {
	{ "wait", OPTION_FLAG, offsetof(struct arguments, wait),
	  .help = "return when none of its tasks is left" },
	{ "reason", OPTION_TEXT, offsetof(struct arguments, reason), "TEXT",
	  .help = "shown to others, with your name" },
	{ 0 },
};

static json_t *ask(const char *command, const char *node, const char *reason, int *code)
{
	return client_ask(
		json_pack("{s:s, s:s, s:s*}", "command", command, "node", node, "reason", reason),
		code);
}

static json_int_t guests_of(const json_t *left)
{
	return json_integer_value(json_object_get(left, "guests"));
}

/* "3 guests left (oldest 4:10, ann: cc1plus)" */
static void print_left(FILE *to, const json_t *left)
{
	const json_t *oldest = json_object_get(left, "oldest");
	json_int_t guests = guests_of(left);

	fprintf(to, "%s: %" JSON_INTEGER_FORMAT " guest%s left", text_of(left, "host"), guests,
		guests == 1 ? "" : "s");
	if (json_is_object(oldest))
		fprintf(to, " (oldest %s, %s: %s)", duration_of(oldest, "elapsed"),
			text_of(oldest, "user"), text_of(oldest, "command"));
}

static void show_progress(const json_t *left)
{
	if (!isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\r");
	if (left) {
		print_left(stderr, left);
		fprintf(stderr, " …");
	}
	fprintf(stderr, "\033[K");
}

/* What is left in the end, with the time it took: NULL after a message. */
static json_t *wait_empty(const char *node, int *code)
{
	const struct timespec look = { 0, LOOK_MS * 1000000L };
	const double start = progress_seconds(CLOCK_BOOTTIME);
	json_t *left;

	for (;;) {
		left = ask("guests", node, NULL, code);
		if (!left)
			break;
		if (!json_is_true(json_object_get(left, "draining"))) {
			show_progress(NULL);
			*code = fail(EXIT_REFUSED,
				     "%s: somebody has undrained it, or its agent was restarted",
				     text_of(left, "host"));
			json_decref(left);
			return NULL;
		}
		if (!guests_of(left))
			break;
		show_progress(left);
		json_decref(left);
		nanosleep(&look, NULL);
	}
	show_progress(NULL);
	if (left)
		json_object_set_new(left, "seconds",
				    json_real(progress_seconds(CLOCK_BOOTTIME) - start));
	return left;
}

/* A terminal is told what is left; a script asks for --json. */
static void tell(const json_t *left)
{
	if (!isatty(STDOUT_FILENO))
		return;
	if (guests_of(left)) {
		print_left(stdout, left);
		printf("; it takes no new tasks\n");
		return;
	}
	printf("%s: empty", text_of(left, "host"));
	if (json_object_get(left, "seconds"))
		printf(" after %s", duration_of(left, "seconds"));
	printf("; safe to stop. `ehctl undrain %s` when done\n", text_of(left, "host"));
}

static int run_drain(int argc, char **argv, bool json)
{
	struct arguments a = { 0 };
	int code = options_parse(argc, argv, table, &a);
	json_t *reply, *left;

	if (code)
		return code;
	if (argc - optind != 1)
		return bad_usage(argc == optind ? "a node is required" : "one node at a time");
	reply = ask("drain", argv[optind], a.reason, &code);
	if (!reply)
		return code;
	if (a.wait || (!json && isatty(STDOUT_FILENO))) {
		left = a.wait ? wait_empty(argv[optind], &code)
			      : ask("guests", argv[optind], NULL, &code);
		json_decref(reply);
		reply = left;
	}
	if (reply && json)
		code = json_print(reply);
	else if (reply && json_object_get(reply, "guests"))
		tell(reply);
	json_decref(reply);
	return code;
}

static int run_undrain(int argc, char **argv, bool json)
{
	json_t *reply;
	int code;

	if (argc != 2)
		return bad_usage(argc < 2 ? "a node is required" : "one node at a time");
	reply = ask("undrain", argv[1], NULL, &code);
	if (reply && json)
		code = json_print(reply);
	json_decref(reply);
	return code;
}

const struct command drain_command = {
	.name = "drain",
	.arguments = "NODE [--wait] [--reason TEXT]",
	.help = "stop placing new tasks on a node\n\n"
		"NODE is the name of its host, or its code.\n"
		"  --wait         return when no task of another node is left there\n"
		"  --reason TEXT  shown to all who look, with your name\n"
		"Tasks that already run there continue. The exit status of --wait is 1 if the\n"
		"node does not answer any more, or was undrained before it was empty.",
	.run = run_drain,
};

const struct command undrain_command = {
	.name = "undrain",
	.arguments = "NODE",
	.help = "place tasks on a drained node again",
	.run = run_undrain,
};
