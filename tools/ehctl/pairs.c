// SPDX-License-Identifier: GPL-2.0-or-later
#include "pairs.h"

#include <stdio.h>
#include <string.h>
#include <jansson.h>

#include "client.h"
#include "tools/common/common.h"

#define NOTES 8 /* lines of the same note */

static const char *const levels[] = { "error", "warning", "note" };

static bool is(const json_t *of, const char *member, const char *text)
{
	const char *value = json_string_value(json_object_get(of, member));

	return value && !strcmp(value, text);
}

/* Checks of this level and with this fix, and the fix below them. They are taken out of their pairs. */
static void print_alike(const json_t *pairs, const char *level, const char *fix)
{
	const size_t most = strcmp(level, "note") ? SIZE_MAX : NOTES;
	json_t *pair, *checks;
	size_t i, k, n = 0;

	json_array_foreach((json_t *)pairs, i, pair) {
		checks = json_object_get(pair, "checks");
		for (k = 0; k < json_array_size(checks);) {
			const json_t *c = json_array_get(checks, k);

			if (!is(c, "level", level) || !is(c, "fix", fix)) {
				k++;
				continue;
			}
			if (++n <= most)
				printf("%-7s %s -> %s  %s: %s\n", level, text_of(pair, "from_host"),
				       text_of(pair, "to_host"), text_of(c, "name"),
				       text_of(c, "what"));
			json_array_remove(checks, k);
		}
	}
	if (n > most)
		printf("%-7s the same of %zu more pairs (--json has all)\n", level, n - most);
	printf("%13s%s\n", "fix: ", fix);
}

/* The same fix may be for many pairs. */
static void print_level(const json_t *pairs, const char *level)
{
	char fix[512];
	json_t *pair;
	size_t i, k;

	json_array_foreach((json_t *)pairs, i, pair) {
		const json_t *checks = json_object_get(pair, "checks");

		for (k = 0; k < json_array_size(checks);) {
			const json_t *c = json_array_get(checks, k);

			if (!is(c, "level", level)) {
				k++;
				continue;
			}
			snprintf(fix, sizeof(fix), "%s", text_of(c, "fix"));
			if (strcmp(fix, text_of(c, "fix")))
				k++; /* too long to be of our agent */
			else
				print_alike(pairs, level, fix);
		}
	}
}

/* Those of one node that were not tested for the same reason are a line. */
static void print_untested(const json_t *pairs)
{
	const size_t n = json_array_size(pairs);
	size_t i = 0, count;

	while (i < n) {
		const json_t *pair = json_array_get(pairs, i);
		const char *why = text_of(pair, "why"), *from = text_of(pair, "from_host");

		if (json_is_true(json_object_get(pair, "tested"))) {
			i++;
			continue;
		}
		for (count = 0; i + count < n; count++) {
			const json_t *next = json_array_get(pairs, i + count);

			if (json_is_true(json_object_get(next, "tested")) ||
			    !is(next, "why", why) || !is(next, "from_host", from))
				break;
		}
		/* one without texts is not of our agent */
		count = count ?: 1;
		printf("not tested: %zu pair%s from %s: %s\n", count, count == 1 ? "" : "s", from,
		       why);
		i += count;
	}
}

static void print_pairs(const json_t *reply)
{
	const json_t *pairs = json_object_get(reply, "pairs"), *pair;
	const json_int_t left_out = json_integer_value(json_object_get(reply, "left_out"));
	const size_t n = json_array_size(pairs);
	size_t i, tested = 0, good = 0;

	json_array_foreach((json_t *)pairs, i, pair) {
		tested += json_is_true(json_object_get(pair, "tested"));
		good += json_is_true(json_object_get(pair, "ok"));
	}
	for (i = 0; i < sizeof(levels) / sizeof(*levels); i++)
		print_level(pairs, levels[i]);
	print_untested(pairs);
	if (left_out)
		printf("not tested: %lld pairs of nodes in different groups: of more than 32 nodes only "
		       "those of a group are tested, and controllers\n",
		       (long long)left_out);
	printf("%zu pair%s, %zu good", n, n == 1 ? "" : "s", good);
	if (tested < n)
		printf(", %zu not tested", n - tested);
	putchar('\n');
}

static bool has_error(const json_t *pairs)
{
	json_t *pair, *c;
	size_t i, k;

	json_array_foreach((json_t *)pairs, i, pair)
		json_array_foreach(json_object_get(pair, "checks"), k, c)
			if (is(c, "level", "error"))
				return true;
	return false;
}

int pairs_run(bool json)
{
	int code;
	json_t *reply = client_ask(json_pack("{s:s}", "command", "pairs"), &code);
	bool bad = has_error(json_object_get(reply, "pairs"));

	if (!reply)
		return code;
	if (json)
		code = json_print(reply);
	else
		print_pairs(reply);
	json_decref(reply);
	return code ? code : bad ? EXIT_REFUSED : EXIT_DONE;
}
