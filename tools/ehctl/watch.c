// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

/* Whether this is the name of a host whose code is in another member, which shows it. */
static bool is_name(const json_t *event, const char *key)
{
	char code[64];
	size_t n = strlen(key);

	if (!strcmp(key, "host"))
		return json_object_get(event, "node");
	if (n < 6 || n >= sizeof(code) || strcmp(key + n - 5, "_host"))
		return false;
	snprintf(code, sizeof(code), "%.*s", (int)n - 5, key);
	return json_object_get(event, code);
}

/* Time and event, then the other members in the order in which they came, hosts instead of codes. */
static void print_event(const json_t *event)
{
	const char *key;
	json_t *value;

	printf("%s  %-10s", text_of(event, "time"), text_of(event, "event"));
	json_object_foreach((json_t *)event, key, value) {
		char *text;

		if (!strcmp(key, "time") || !strcmp(key, "event") || is_name(event, key))
			continue;
		if (json_is_string(value)) {
			printf("  %s %s", key, client_host(event, key));
			continue;
		}
		text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(4));
		printf("  %s %s", key, text ? text : "-");
		free(text);
	}
	putchar('\n');
}

static int run(int argc, char **argv, bool json)
{
	bool end = false;
	json_t *event;
	int fd, code = EXIT_REFUSED;

	if (argc > 1)
		return bad_argument(argv[1]);
	fd = client_connect(false);
	if (fd < 0)
		return EXIT_REFUSED;
	if (client_send(fd, json_pack("{s:s}", "command", "watch")))
		goto close_fd;
	while ((event = client_receive(fd, &code, &end))) {
		if (json)
			code = json_print(event);
		else
			print_event(event);
		json_decref(event);
		/* SIGPIPE ends us when the reader has gone; other write errors do so here */
		if (fflush(stdout) || ferror(stdout))
			break;
	}
	if (end)
		code = fail(EXIT_REFUSED, "the agent has ended");
close_fd:
	close(fd);
	return code;
}

const struct command watch_command = {
	.name = "watch",
	.arguments = "[--json]",
	.help = "show events, one per line, until interrupted\n\n"
		"Events are state changes, placements, ends of tasks, thresholds, peers and\n"
		"controllers.",
	.run = run,
};
