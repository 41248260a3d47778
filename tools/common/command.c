// SPDX-License-Identifier: GPL-2.0-or-later
#include "command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/naming.h"
#include "help.h"
#include "wire/clean.h"

const char *command_name, *command_usage;

/* Text with words of others in it, for a terminal. NULL: out of memory. To be freed. */
static char *clean_format(char *(*as)(char *out, size_t size, const char *text), const char *format,
			  va_list args)
{
	char *text, *clean;
	const int n = vasprintf(&text, format, args);

	if (n < 0)
		return NULL;
	clean = malloc(n + 1);
	if (clean)
		as(clean, n + 1, text);
	free(text);
	return clean;
}

/* What is wrong may be in it: a word, a line of a file, an answer. */
static void complain(const char *format, va_list args)
{
	char *text = clean_format(clean_text, format, args);

	fprintf(stderr, "ehctl%s%s: %s\n", command_name ? " " : "",
		command_name ? command_name : "", text ? text : "out of memory");
	free(text);
}

void print_lines(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = clean_format(clean_lines, format, args);
	va_end(args);
	if (text)
		fputs(text, stdout);
	else
		fail(0, "out of memory");
	free(text);
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
		help_usage(stderr, command_name, command_usage);
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
