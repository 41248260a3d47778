// SPDX-License-Identifier: GPL-2.0-or-later
#include "command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cluster/naming.h"

const char *command_name, *command_usage;

static void complain(const char *format, va_list args)
{
	fprintf(stderr, "ehctl%s%s: ", command_name ? " " : "", command_name ? command_name : "");
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

int fail(int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain(format, args);
	va_end(args);
	return code;
}

int bad_usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain(format, args);
	va_end(args);
	if (command_usage)
		fprintf(stderr, "usage: ehctl %s %s\n", command_name, command_usage);
	return EXIT_USAGE;
}

int bad_argument(const char *argument)
{
	struct naming_nearest n = { .wanted = argument };
	char words[512], *word, *rest = words;

	snprintf(words, sizeof(words), "%s", command_usage ? command_usage : "");
	while (*argument == '-' && (word = strsep(&rest, " []|…")))
		if (*word == '-')
			naming_try(&n, word);
	if (*argument == '-')
		naming_try(&n, "--json");
	if (!n.best)
		return bad_usage("unknown argument: %s", argument);
	if (!n.distance)
		return bad_usage("%s: unexpected here, or its value is missing", argument);
	return bad_usage("unknown argument: %s; did you mean %s?", argument, n.best);
}

int command_take_options(int argc, char **argv, bool *json, bool *help)
{
	int kept = 1, i;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--json"))
			*json = true;
		else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			*help = true;
		else
			argv[kept++] = argv[i];
	}
	while (i < argc)
		argv[kept++] = argv[i++];
	argv[kept] = NULL;
	return kept;
}

int command_finish(int code)
{
	if (!fflush(stdout) && !ferror(stdout))
		return code;
	return code ? code : fail(EXIT_REFUSED, "cannot write the output: %s", strerror(errno));
}
