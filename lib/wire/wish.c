// SPDX-License-Identifier: GPL-2.0-or-later
#include "wire/wish.h"

#include <stdio.h>
#include <string.h>

#define SESSION_DIGITS "0123456789"

/* The length of a name without numbers (".NUMBER") at its end, up to so many. */
static size_t wish_without(const char *name, int numbers)
{
	size_t length = strlen(name), at;

	for (; numbers; numbers--, length = at) {
		for (at = length; at && strchr(SESSION_DIGITS, name[at - 1]);)
			at--;
		if (at == length || at < 2 || name[--at] != '.')
			break;
	}
	return length;
}

size_t wish_clean(char out[SESSION_NAME], const char *wish)
{
	static const char good[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_" SESSION_DIGITS;
	size_t n = 0;

	for (; wish[n] && n < SESSION_WISH; n++)
		out[n] = strchr(good, wish[n]) ? wish[n] : '-';
	out[n] = '\0';
	return n;
}

void wish_name(char name[SESSION_NAME], const char *wish, int pid, unsigned int number)
{
	const size_t n = wish_clean(name, wish);

	snprintf(name + n, SESSION_NAME - n, "%s%d.%u", n ? "." : "s", pid, number);
}

const char *wish_of(char out[SESSION_NAME], const char *name)
{
	snprintf(out, SESSION_NAME, "%.*s", (int)wish_without(name, 2), name);
	return out;
}
