// SPDX-License-Identifier: GPL-2.0-or-later
#include "parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int parse_word(const char *const *words, const char *text)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(words[i], text))
			return i;
	return -1;
}

int parse_count(const char *text, uint64_t max, uint64_t *out)
{
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno || *end || *out > max ? -EINVAL : 0;
}

int parse_real(const char *text, double max, double *out)
{
	char *end;

	if (!*text || strspn(text, "0123456789.eE-+") != strlen(text))
		return -EINVAL;
	*out = strtod(text, &end);
	return *end || !(*out >= 0 && *out <= max) ? -EINVAL : 0;
}

size_t parse_mark(const char *text)
{
	static const char mark[] = "\xef\xbb\xbf";

	return strncmp(text, mark, sizeof(mark) - 1) ? 0 : sizeof(mark) - 1;
}
