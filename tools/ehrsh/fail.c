// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehrsh.h"

#include <stdarg.h>
#include <stdio.h>

#include "wire/clean.h"

#define FAIL_TEXT 1024

int ehrsh_fail(const char *format, ...)
{
	char text[FAIL_TEXT], clean[FAIL_TEXT];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* The host may be of a list that somebody else has written. */
	fprintf(stderr, "ehrsh: %s\n", clean_text(clean, sizeof(clean), text));
	return EHRSH_FAILED;
}
