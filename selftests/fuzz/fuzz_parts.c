// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two hosts that exchange what differs in their rosters, and a third text as sums of somebody who lies: what is said is
 * read on the other side, and of equal rosters nothing differs.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/parts.h"
#include "cluster/roster_json.h"
#include "cluster/statement.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static json_t *next(const char **text, size_t *left)
{
	const char *gap = memchr(*text, 0, *left);
	const size_t n = gap ? (size_t)(gap - *text) : *left;
	json_t *o = json_loadb(*text, n, JSON_REJECT_DUPLICATES, NULL);

	*text += n + !!gap;
	*left -= n + !!gap;
	return o;
}

static struct roster *take(json_t *o)
{
	const char *why = NULL;
	struct roster *r = roster_from_json(o, &why);

	json_decref(o);
	return r;
}

static void statements(const struct roster *r)
{
	const struct roster_entry *e;

	for (size_t i = 0; (e = roster_at(r, i)); i++)
		for (enum statement what = STATEMENT_ENTRY; what <= STATEMENT_GRANT; what++) {
			size_t n;
			char *text = statement_text(what, "c", roster_topology(r), e, &n);

			must(text && n && !text[n - 1]);
			free(text);
		}
}

static void differ(const struct roster *a, const struct roster *b)
{
	json_t *sums = parts_sums(a), *o, *part;
	const char *why = NULL;
	size_t i;

	must(sums);
	o = parts_differ(a, json_object_get(sums, "sums"), &why);
	must(o && !json_array_size(json_object_get(o, "differ")));
	json_decref(o);
	o = b ? parts_differ(b, json_object_get(sums, "sums"), &why) : NULL;
	json_decref(sums);
	json_array_foreach(json_object_get(o, "differ"), i, part) {
		json_t *entries = parts_entries(b, json_integer_value(part), a);
		struct roster *read;

		must(entries);
		read = roster_from_json(entries, &why);
		must(read && roster_count(read) <= PARTS_CODES);
		roster_free(read);
		json_decref(entries);
	}
	json_decref(o);
	for (size_t most = 0; most <= 4096; most += 1024) {
		char *text;

		o = parts_whole(a, most);
		text = json_dumps(o, JSON_COMPACT);
		must(o && text && (most < 1024 || strlen(text) <= most));
		free(text);
		json_decref(o);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *why = NULL;
	struct roster *a = take(next(&text, &size)), *b = take(next(&text, &size));
	json_t *sums = next(&text, &size), *o;

	if (a) {
		differ(a, b);
		statements(a);
		why = NULL;
		o = parts_differ(a, sums, &why);
		must(o || why);
		json_decref(o);
	}
	json_decref(sums);
	roster_free(a);
	roster_free(b);
	return 0;
}
