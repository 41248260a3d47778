// SPDX-License-Identifier: GPL-2.0-or-later
#include "csv.h"

#include <string.h>

static void csv_put(char *out, size_t size, size_t at, char c)
{
	if (at + 1 < size)
		out[at] = c;
}

size_t csv_field(char *out, size_t size, const char *text)
{
	const bool quoted = strpbrk(text, ",\"\r\n");
	size_t n = 0;

	if (quoted)
		csv_put(out, size, n++, '"');
	for (; *text; text++) {
		if (*text == '"')
			csv_put(out, size, n++, '"');
		csv_put(out, size, n++, *text);
	}
	if (quoted)
		csv_put(out, size, n++, '"');
	if (size)
		out[n < size ? n : size - 1] = '\0';
	return n;
}

bool csv_is_formula(const char *text)
{
	return *text && strchr("=+-@\t\r\n", *text);
}
