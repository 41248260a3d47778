// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

#define LOOK_MS 500 /* between two looks at what is left */
#define LIMIT_MAX 31536000
#define LIMIT_NONE UINT64_MAX

struct arguments {
	bool wait, away;
	uint64_t limit; /* seconds */
	const char *reason;
};

static const struct option_row table[] = {
	{ "wait", OPTION_FLAG, offsetof(struct arguments, wait),
	  .help = "return when none of its tasks is left" },
	{ "away", OPTION_FLAG, offsetof(struct arguments, away),
	  .help = "with --wait: nor a task of its own elsewhere; no more leave" },
	{ "limit", OPTION_COUNT, offsetof(struct arguments, limit), "SECONDS",
	  .count = { 0, LIMIT_MAX }, .help = "with --wait: fail when that long has passed" },
	{ "reason", OPTION_TEXT, offsetof(struct arguments, reason), "TEXT",
	  .help = "shown to others, with your name" },
	{ 0 },
};

static json_t *ask(const char *command, const char *node, int *code)
{
	return client_ask(json_pack("{s:s, s:s}", "command", command, "node", node), code);
}

static json_int_t number_of(const json_t *left, const char *which)
{
	return json_integer_value(json_object_get(left, which));
}

static bool is_empty(const struct arguments *a, const json_t *left)
{
	return !number_of(left, "guests") && !(a->away && number_of(left, "away"));
}

/* "3 guests and 1 task away", or without what is not asked about */
static const char *left_text(const struct arguments *a, const json_t *left, char out[96])
{
	const json_int_t guests = number_of(left, "guests"), away = number_of(left, "away");
	size_t n = snprintf(out, 96, "%" JSON_INTEGER_FORMAT " guest%s", guests,
			    guests == 1 ? "" : "s");

	if (a->away)
		snprintf(out + n, 96 - n, " and %" JSON_INTEGER_FORMAT " task%s away", away,
			 away == 1 ? "" : "s");
	return out;
}

/* "n1: 3 guests left (oldest 4:10, ann: cc1plus)" */
static void print_left(FILE *to, const struct arguments *a, const json_t *left)
{
	const json_t *oldest = json_object_get(left, "oldest");
	char text[96];

	fprintf(to, "%s: %s left", text_of(left, "host"), left_text(a, left, text));
	if (json_is_object(oldest))
		fprintf(to, " (oldest %s, %s: %s)", duration_of(oldest, "elapsed"),
			text_of(oldest, "user"), text_of(oldest, "command"));
}

static void show_progress(const struct arguments *a, const json_t *left)
{
	if (!isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\r");
	if (left) {
		print_left(stderr, a, left);
		fprintf(stderr, " …");
	}
	fprintf(stderr, "\033[K");
}

/* Why to wait no longer although something is left; NULL: there is no reason. */
static const char *trouble_of(const struct arguments *a, const json_t *left, double waited,
			      char out[128])
{
	char text[96];

	if (!json_is_true(json_object_get(left, "draining")))
		return "somebody has undrained it, or its agent was restarted";
	if (is_empty(a, left) || waited < a->limit)
		return NULL;
	snprintf(out, 128, "%s left after %" PRIu64 " s", left_text(a, left, text), a->limit);
	return out;
}

/* What is left in the end, with the time it took: NULL after a message. */
static json_t *wait_empty(const struct arguments *a, const char *node, int *code)
{
	const struct timespec look = { 0, LOOK_MS * 1000000L };
	const double start = progress_seconds(CLOCK_BOOTTIME);
	const char *trouble;
	double waited = 0;
	char out[128];
	json_t *left;

	for (;;) {
		left = ask("guests", node, code);
		waited = progress_seconds(CLOCK_BOOTTIME) - start;
		trouble = left ? trouble_of(a, left, waited, out) : NULL;
		if (!left || trouble || is_empty(a, left))
			break;
		show_progress(a, left);
		json_decref(left);
		nanosleep(&look, NULL);
	}
	show_progress(a, NULL);
	if (trouble) {
		*code = fail(EXIT_REFUSED, "%s: %s", text_of(left, "host"), trouble);
		json_decref(left);
		return NULL;
	}
	if (left)
		json_object_set_new(left, "seconds", json_real(waited));
	return left;
}

/* A terminal is told what is left; a script asks for --json. */
static void tell(const struct arguments *a, const json_t *left)
{
	if (!isatty(STDOUT_FILENO))
		return;
	if (!is_empty(a, left)) {
		print_left(stdout, a, left);
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
	struct arguments a = { .limit = LIMIT_NONE };
	int code = options_parse(argc, argv, table, &a);
	json_t *reply, *left;

	if (code)
		return code;
	if (argc - optind != 1)
		return bad_usage(argc == optind ? "a node is required" : "one node at a time");
	if (!a.wait && (a.away || a.limit != LIMIT_NONE))
		return bad_usage("--away and --limit are for --wait");
	reply = client_ask(json_pack("{s:s, s:s, s:s*, s:b}", "command", "drain", "node",
				     argv[optind], "reason", a.reason, "away", (int)a.away),
			   &code);
	if (!reply)
		return code;
	if (a.wait || (!json && isatty(STDOUT_FILENO))) {
		left = a.wait ? wait_empty(&a, argv[optind], &code)
			      : ask("guests", argv[optind], &code);
		json_decref(reply);
		reply = left;
	}
	if (reply && json)
		code = json_print(reply);
	else if (reply && json_object_get(reply, "guests"))
		tell(&a, reply);
	json_decref(reply);
	return code;
}

static int run_undrain(int argc, char **argv, bool json)
{
	json_t *reply;
	int code;

	if (argc != 2)
		return bad_usage(argc < 2 ? "a node is required" : "one node at a time");
	reply = ask("undrain", argv[1], &code);
	if (reply && json)
		code = json_print(reply);
	json_decref(reply);
	return code;
}

const struct command drain_command = {
	.name = "drain",
	.arguments = "NODE [--wait [--away] [--limit SECONDS]] [--reason TEXT]",
	.help = "stop placing new tasks on a node\n\n"
		"NODE is the name of its host, or its code.\n"
		"  --wait           return when no task of another node is left there\n"
		"  --away           and none of its own elsewhere; no more leave from now on\n"
		"  --limit SECONDS  fail after that long, and say what is left\n"
		"  --reason TEXT    shown to all who look, with your name\n"
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
