// SPDX-License-Identifier: GPL-2.0-or-later
#include "number.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

const char *dag_number(const char *text, const char *end, double most, double *out)
{
	const char *at = text;
	size_t digits = 0;
	uint64_t whole = 0;
	char buffer[64];

	if (at < end && *at == '+')
		at++;
	for (; at < end && is_digit(*at); at++, digits++)
		whole = whole * 10 + (*at - '0');
	/* the fast way for nearly all: whole and short */
	if (digits && digits < 16 && (at == end || (*at != '.' && (*at | 32) != 'e'))) {
		*out = whole;
		return *out <= most ? at : NULL;
	}
	if (at < end && *at == '.')
		for (at++; at < end && is_digit(*at); at++)
			digits++;
	if (!digits)
		return NULL;
	if (at < end && (*at | 32) == 'e') {
		at++;
		at += at < end && (*at == '+' || *at == '-');
		if (at == end || !is_digit(*at))
			return NULL;
		while (at < end && is_digit(*at))
			at++;
	}
	if ((size_t)(at - text) >= sizeof(buffer))
		return NULL;
	memcpy(buffer, text, at - text);
	buffer[at - text] = '\0';
	*out = strtod(buffer, NULL);
	return *out <= most ? at : NULL;
}
