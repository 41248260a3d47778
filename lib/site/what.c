// SPDX-License-Identifier: GPL-2.0-or-later
#include "what.h"

#include <string.h>

/* Its components are names. A slash at the end is not looked at. */
static bool what_is_plain(const char *path)
{
	if (*path != '/')
		return false;
	while (*path == '/' && path[1]) {
		size_t n = strcspn(++path, "/");

		if (!n || (n == 1 && !memcmp(path, ".", 1)) || (n == 2 && !memcmp(path, "..", 2)))
			return false;
		path += n;
	}
	return true;
}

bool site_path_is_good(const char *item)
{
	for (const char *c = item; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
	return what_is_plain(item);
}

bool site_path_is_below(const char *item, const char *path)
{
	size_t n = strlen(item);

	while (n && item[n - 1] == '/')
		n--;
	return *path == '/' && !strncmp(item, path, n) && (!path[n] || path[n] == '/');
}

enum site_answer site_what(const struct site_what *rule, const char *given, const char *real,
			   const char **item)
{
	const bool plain = what_is_plain(given);
	const char *none;

	if (!item)
		item = &none;
	for (size_t i = 0; i < rule->ndeny; i++) {
		*item = rule->deny[i];
		if (site_path_is_below(*item, given) || (real && site_path_is_below(*item, real)))
			return SITE_DENIED;
	}
	for (size_t i = 0; real && i < rule->nallow; i++) {
		*item = rule->allow[i];
		if (site_path_is_below(*item, real) || (plain && site_path_is_below(*item, given)))
			return SITE_MAY;
	}
	*item = NULL;
	return real && rule->nallow ? SITE_NOT_ALLOWED : SITE_MAY;
}
