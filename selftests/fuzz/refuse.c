// SPDX-License-Identifier: GPL-2.0-or-later
/* How programs of tools/ say no, for targets that have no main(): the message is made, and thrown away. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/common/command.h"
#include "tools/ehplan/ehplan.h"

int fail(int code, const char *format, ...)
{
	char line[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	return code;
}

/* A refusal says what is wrong. */
int call_refused(const char *name, const struct plan_refusal *refusal, int err)
{
	if (err != -ENOMEM && !*refusal->what)
		abort();
	return EXIT_USAGE;
}
