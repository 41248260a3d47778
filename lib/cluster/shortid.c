// SPDX-License-Identifier: GPL-2.0-or-later
#include "cluster/shortid.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The number in an ID. */
static const char *shortid_figures(const char *id)
{
	const char *colon = strrchr(id, ':');

	return colon ? colon + 1 : id + strlen(id);
}

/* Whether the ID is of this home, of n letters, with a number that ends so. Another host may say "0.1:x:12". */
static bool shortid_ends(const char *id, const char *home, size_t n, const char *end)
{
	const char *figures = shortid_figures(id);
	size_t have = strlen(figures), want = strlen(end);

	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): n letters of id are those of home */
	return !strncmp(id, home, n) && id[n] == ':' && figures == id + n + 1 && have >= want &&
	       !strcmp(figures + have - want, end);
}

static bool shortid_is_unique(const json_t *ids, const char *id, size_t home, const char *end)
{
	json_t *item;
	size_t i;

	json_array_foreach((json_t *)ids, i, item) {
		const char *other = json_string_value(item) ?: "";

		if (strcmp(other, id) && shortid_ends(other, id, home, end))
			return false;
	}
	return true;
}

json_t *shortid_make(const json_t *ids, const char *id)
{
	const char *figures = shortid_figures(id);
	size_t home = figures > id ? (size_t)(figures - id - 1) : 0, all = strlen(figures);

	for (size_t n = SHORTID_FIGURES; n < all; n++) {
		const char *end = figures + all - n;

		/* with a 0 in front it would not look like a number */
		if (*end != '0' && shortid_is_unique(ids, id, home, end))
			return json_sprintf("%.*s:%s", (int)home, id, end);
	}
	return json_string(id);
}

int shortid_find(const json_t *ids, const char *home, const char *text, const char **id, char *why,
		 size_t size)
{
	const char *figures = shortid_figures(text);
	bool whole = false, several = false;
	size_t i, used = 0;
	json_t *item;

	*id = NULL;
	json_array_foreach((json_t *)ids, i, item) {
		const char *other = json_string_value(item) ?: "";

		whole = !strcmp(other, text) ||
			(home && *figures && shortid_ends(other, home, strlen(home), figures) &&
			 strlen(shortid_figures(other)) == strlen(figures));
		if (whole) {
			*id = other;
			return 0;
		}
	}
	if (!home || strlen(figures) < SHORTID_FIGURES)
		return -ENOENT;
	json_array_foreach((json_t *)ids, i, item) {
		const char *other = json_string_value(item) ?: "";

		/* an ID may be there twice */
		if (!shortid_ends(other, home, strlen(home), figures) ||
		    (*id && !strcmp(*id, other)))
			continue;
		several = *id;
		if (used < size)
			used += snprintf(why + used, size - used, "%s%s",
					 several ? ", " : "more than one task ends so: ", other);
		*id = other;
		if (several && used >= size)
			break;
	}
	return !*id ? -ENOENT : several ? -ENOTUNIQ : 0;
}
