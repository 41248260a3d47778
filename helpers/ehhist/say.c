// SPDX-License-Identifier: GPL-2.0-or-later
#include "say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void say(enum say level, const char *format, ...)
{
	const char *name = level == SAY_ERROR ? "error" : level == SAY_WARNING ? "warning" : "info";
	char line[1024];
	va_list args;
	size_t at;
	int n;

	if (getenv("JOURNAL_STREAM"))
		at = snprintf(line, sizeof(line), "<%d>ehhist: ", (int)level);
	else
		at = snprintf(line, sizeof(line), "ehhist: %s: ", name);
	va_start(args, format);
	n = vsnprintf(line + at, sizeof(line) - at - 1, format, args);
	va_end(args);
	at = n < 0 || at + n > sizeof(line) - 2 ? sizeof(line) - 2 : at + n;
	line[at++] = '\n';
	/* One write, so that it does not mix with lines of the agent. */
	if (write(STDERR_FILENO, line, at) < 0)
		return;
}
