// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * nl field and wait: what is asked again and again. A shell that asks starts
 * two processes for each question, and an emulated guest does little else then.
 */
#include <fnmatch.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/ehsched.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include "nl.h"

/* What is printed of the answer, which must be freed. Return: NULL if it was refused. */
static char *answer_to(int cmd, int flags)
{
	FILE *terminal = stdout;
	char *text = NULL;
	size_t size;
	int err;

	stdout = open_memstream(&text, &size);
	if (!stdout)
		die("no memory");
	err = talk(request(cmd, flags));
	fclose(stdout);
	stdout = terminal;
	if (!err)
		return text;
	free(text);
	return NULL;
}

/* The value of a field, empty if there is none. Up to the end of its line, or the space before more values. */
static const char *value_in(const char *text, const char *name, char *value, size_t size)
{
	size_t n = strlen(name);

	for (; text && *text; text = strchr(text, '\n'), text += !!text) {
		if (strncmp(text, name, n) || text[n] != ' ')
			continue;
		snprintf(value, size, "%.*s", (int)strcspn(text + n + 1, " \n"), text + n + 1);
		return value;
	}
	return "";
}

/* field NAME…: their values in one line; of a name that is not there, none */
int cmd_field(int argc, char **argv)
{
	char value[64], *text = answer_to(EHS_CMD_NODE_GET, NLM_F_ACK);
	int i;

	if (!text)
		return report(-1);
	for (i = 0; i < argc; i++)
		printf("%s%s", i ? " " : "", value_in(text, argv[i], value, sizeof(value)));
	printf("\n");
	free(text);
	return 0;
}

/*
 * counts: all counters in one line. counts LINE: which of them have grown since
 * counts has said so, and by how much.
 */
int cmd_counts(int argc, char **argv)
{
	char *text = answer_to(EHS_CMD_NODE_GET, NLM_F_ACK), *line, *rest = text;
	const char *space = "";
	char old[64];

	if (!text)
		return report(-1);
	/* in the same form as the answer */
	for (char *p = argc ? argv[0] : NULL; p && *p; p++)
		if (*p == ',')
			*p = '\n';
	while ((line = strsep(&rest, "\n"))) {
		char *value = strchr(line, ' ');

		if (strncmp(line, "n.", 2) || !value)
			continue;
		if (!argc) {
			printf("%s,", line);
			continue;
		}
		*value++ = '\0';
		if (!strcmp(value_in(argv[0], line, old, sizeof(old)), value))
			continue;
		printf("%s%s+%lld", space, line + 2, atoll(value) - atoll(old));
		space = " ";
	}
	printf("\n");
	free(text);
	return 0;
}

/* field NAME VALUE|N+: is it so, or N at least? */
static bool field_is(const char *name, const char *wanted)
{
	char value[64], *text = answer_to(EHS_CMD_NODE_GET, NLM_F_ACK);
	size_t n = strlen(wanted);
	const char *is;
	bool good;

	if (!text)
		return false;
	is = value_in(text, name, value, sizeof(value));
	if (n && wanted[n - 1] == '+')
		good = *is && strtoull(is, NULL, 10) >= strtoull(wanted, NULL, 10);
	else
		good = !strcmp(is, wanted);
	free(text);
	return good;
}

/* How many lines of this answer are like the pattern. */
static int lines_of(int cmd, const char *pattern)
{
	char *text = answer_to(cmd, NLM_F_DUMP), *line, *rest = text;
	int n = 0;

	while (text && (line = strsep(&rest, "\n")))
		n += *line && !fnmatch(pattern, line, 0);
	free(text);
	return n;
}

static bool is_so(char **argv)
{
	if (!strcmp(argv[0], "field"))
		return field_is(argv[1], argv[2]);
	if (!strcmp(argv[0], "task"))
		return lines_of(EHS_CMD_TASK_GET, argv[1]);
	return lines_of(EHS_CMD_NODE_GET, "netns *") == atoi(argv[1]);
}

/*
 * wait SECONDS field NAME VALUE|N+, wait SECONDS task PATTERN (of a line of
 * tasks), or wait SECONDS nodes N (that a dump has): until it is so. Asks less
 * and less often, as most events are near, and leaves the processor to others.
 */
int cmd_wait(int argc, char **argv)
{
	struct timespec now;
	time_t end;
	int ms = 1;

	if (argc < 3 || (!strcmp(argv[1], "field") ? argc != 4 : argc != 3))
		die("wait SECONDS field NAME VALUE | task PATTERN | nodes N");
	clock_gettime(CLOCK_MONOTONIC, &now);
	end = now.tv_sec + atoi(argv[0]);
	while (!is_so(argv + 1)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec > end)
			return 1;
		poll(NULL, 0, ms);
		ms = ms < 50 ? ms * 2 : 100;
	}
	return 0;
}
