// SPDX-License-Identifier: GPL-2.0-or-later
#include "cluster/naming.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#define NAMING_LETTERS 63

/* Of ASCII: the locale has no say in names. */
static char naming_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

enum naming naming_of(const char *host, const char *text)
{
	size_t n = strlen(text);

	if (!n || strncasecmp(host, text, n))
		return NAMING_NOT;
	return !host[n] ? NAMING_FULL : host[n] == '.' ? NAMING_PART : NAMING_NOT;
}

static unsigned int naming_least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

unsigned int naming_distance(const char *a, const char *b)
{
	size_t m = strnlen(a, NAMING_LETTERS), n = strnlen(b, NAMING_LETTERS);
	/* of the beginnings of a, up to the row, and of b, up to the column: the last three rows */
	unsigned int rows[3][NAMING_LETTERS + 1], *before = rows[0], *above = rows[1],
						  *row = rows[2];

	for (size_t j = 0; j <= n; j++)
		above[j] = before[j] = j;
	for (size_t i = 1; i <= m; i++) {
		unsigned int *free = before;
		char x = naming_lower(a[i - 1]);

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			char y = naming_lower(b[j - 1]);

			row[j] = naming_least(above[j - 1] + (x != y),
					      naming_least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && x == naming_lower(b[j - 2]) &&
			    y == naming_lower(a[i - 2]))
				row[j] = naming_least(row[j], before[j - 2] + 1);
		}
		before = above;
		above = row;
		row = free;
	}
	return above[n];
}

void naming_try(struct naming_nearest *n, const char *word)
{
	size_t length = strlen(n->wanted);
	unsigned int most = length < 6 ? 1 : length / 3, distance;

	if (!length)
		return;
	distance = naming_distance(n->wanted, word);
	/* "stat" means "status" rather than "set". */
	if (length > 1 && !strncasecmp(word, n->wanted, length))
		distance = naming_least(distance, 1);
	if (distance > most || (n->best && distance >= n->distance))
		return;
	/* Nothing of a short word would be left. */
	if (distance >= length)
		return;
	n->best = word;
	n->distance = distance;
}
