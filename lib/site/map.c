// SPDX-License-Identifier: GPL-2.0-or-later
#include "map.h"

#include <string.h>

#include "who.h"

#define MAP_ALL "*"

static bool map_is_name(const char *name, size_t length)
{
	char text[SITE_WHO_MAX + 1] = "";

	if (length > SITE_WHO_MAX)
		return false;
	memcpy(text, name, length);
	/* No group, and no number. */
	return *text != '@' && site_who_is_good(text) && text[strspn(text, "0123456789")] &&
	       !strchr(text, '=');
}

bool site_map_is_good(const char *item)
{
	const char *here = strchr(item, '=');

	if (!here)
		return !strcmp(item, MAP_ALL);
	return map_is_name(item, here - item) && map_is_name(here + 1, strlen(here + 1)) &&
	       strcmp(here + 1, "root");
}

const char *site_map(char *const *items, size_t n, const char *name)
{
	const size_t length = strlen(name);
	const char *here = NULL;

	if (!length)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(items[i], MAP_ALL))
			here = name;
		else if (!strncmp(items[i], name, length) && items[i][length] == '=')
			return items[i] + length + 1;
	}
	return here;
}
