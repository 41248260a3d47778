// SPDX-License-Identifier: GPL-2.0-or-later
#include "command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
