// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/survey_answer.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"
#include "ctl/viewer.h"
#include "net/h2_stream.h"

#define SURVEY_BYTES (H2_JSON_MAX / 4 * 3) /* of an answer's items; it has at most H2_JSON_MAX */

static json_int_t survey_at(const json_t *item)
{
	return json_integer_value(json_object_get(item, "at"));
}

static size_t survey_bytes(const json_t *item)
{
	return json_dumpb(item, NULL, 0, JSON_COMPACT) + 1;
}

/* ---- what a node says ---- */

json_int_t survey_answer_newest(enum survey_order order, const json_t *question)
{
	const json_t *until = json_object_get(question, "until");
	json_int_t ahead;

	if (order != SURVEY_TIME)
		return order == SURVEY_AGO ? 0 : INT64_MAX;
	ahead = clock_wall_ms() + SURVEY_AHEAD_MS;
	return json_is_integer(until) && json_integer_value(until) <= ahead
		       ? json_integer_value(until) - 1
		       : ahead;
}

json_t *survey_answer_read(const json_t *said, const char *code, json_int_t newest, size_t most)
{
	const json_t *refused = json_object_get(said, "refused");
	const json_t *rest = json_object_get(said, "rest");
	json_t *node = json_pack("{s:s}", "node", code), *items, *item;
	size_t i;

	if (json_is_string(refused) && json_string_length(refused) < VIEWER_WHY) {
		json_object_set(node, "refused", (json_t *)refused);
		return node;
	}
	items = json_array();
	json_array_foreach(json_object_get(said, "items"), i, item)
		if (json_array_size(items) < most && json_is_integer(json_object_get(item, "at")) &&
		    survey_at(item) <= newest)
			json_array_append(items, item);
	json_object_set_new(node, "items", items);
	if (json_is_integer(rest))
		json_object_set(node, "rest", (json_t *)rest);
	return node;
}

bool survey_answer_holds_back(const json_t *node, size_t most)
{
	const json_t *items = json_object_get(node, "items");

	return json_object_get(node, "rest") && json_array_size(items) < most &&
	       survey_bytes(items) < SURVEY_BYTES / 2;
}

/* The lowest `at` of these; INT64_MAX: there are none. */
static json_int_t survey_least(const json_t *items)
{
	json_int_t least = INT64_MAX;
	json_t *item;
	size_t i;

	json_array_foreach((json_t *)items, i, item)
		if (survey_at(item) < least)
			least = survey_at(item);
	return least;
}

void survey_answer_check_rest(const json_t *nodes)
{
	json_int_t all = INT64_MAX, least, rest;
	json_t *one;
	size_t i;

	json_array_foreach((json_t *)nodes, i, one) {
		least = survey_least(json_object_get(one, "items"));
		all = least < all ? least : all;
	}
	json_array_foreach((json_t *)nodes, i, one) {
		if (!json_object_get(one, "rest"))
			continue;
		least = survey_least(json_object_get(one, "items"));
		rest = json_integer_value(json_object_get(one, "rest"));
		/* all of one node may have been left out for what others say, but not for nothing */
		least = least == INT64_MAX ? all : least;
		if (least == INT64_MAX) {
			json_object_del(one, "items");
			json_object_del(one, "rest");
			json_object_set_new(one, "refused", json_string("its answer is of no use"));
		} else if (rest > least) {
			json_object_set_new(one, "rest", json_integer(least));
		}
	}
}

/* ---- an answer is not too long ---- */

struct survey_item {
	json_t *item;
	json_int_t at;
	size_t bytes;
};

static int survey_compare(const void *a, const void *b)
{
	const struct survey_item *x = a, *y = b;

	return x->at < y->at ? 1 : x->at > y->at ? -1 : 0;
}

/* Appends the items of a list to n others. */
static size_t survey_gather(struct survey_item *to, size_t n, const json_t *items)
{
	json_t *item;
	size_t i;

	json_array_foreach((json_t *)items, i, item)
		to[n++] = (struct survey_item){ item, survey_at(item), survey_bytes(item) };
	return n;
}

/* What is left of the room when each node has its part. */
struct survey_room {
	size_t most, bytes; /* for all, by their order */
	size_t part, part_bytes; /* for each node first */
	json_int_t after; /* items of this time and before are left out */
};

/* Whether there is too much. */
static bool survey_is_long(const json_t *nodes, struct survey_item *items, struct survey_room *room)
{
	size_t i, n = 0, bytes = 0;
	json_t *one;

	json_array_foreach((json_t *)nodes, i, one)
		n = survey_gather(items, n, json_object_get(one, "items"));
	qsort(items, n, sizeof(*items), survey_compare);
	for (i = 0; i < n && i < room->most && bytes + items[i].bytes <= room->bytes; i++)
		bytes += items[i].bytes;
	room->after = i < n ? items[i].at : INT64_MIN;
	return i < n;
}

static void survey_shorten(json_t *node, struct survey_item *items, const struct survey_room *room)
{
	const size_t n = survey_gather(items, 0, json_object_get(node, "items"));
	const json_t *rest = json_object_get(node, "rest");
	json_int_t last = rest ? json_integer_value(rest) : INT64_MIN;
	json_t *kept = json_array();
	size_t i, bytes = 0;

	qsort(items, n, sizeof(*items), survey_compare);
	for (i = 0; i < n; i++) {
		bytes += items[i].bytes;
		if (items[i].at > room->after || (i < room->part && bytes <= room->part_bytes))
			json_array_append(kept, items[i].item);
		else if (items[i].at > last)
			last = items[i].at;
	}
	if (json_array_size(kept) < n)
		json_object_set_new(node, "rest", json_integer(last));
	json_object_set_new(node, "items", kept);
}

static size_t survey_count(const json_t *nodes, size_t *lists)
{
	size_t i, k, n = 0;
	json_t *one;

	*lists = 0;
	json_array_foreach((json_t *)nodes, i, one) {
		k = json_array_size(json_object_get(one, "items"));
		*lists += k > 0;
		n += k;
	}
	return n;
}

void survey_answer_cut(const json_t *nodes, size_t most, bool fair)
{
	size_t i, lists, n = survey_count(nodes, &lists);
	struct survey_room room = { .most = most, .bytes = SURVEY_BYTES };
	struct survey_item *items = malloc((n + 1) * sizeof(*items));
	json_t *one;

	if (items && !survey_is_long(nodes, items, &room))
		goto free_items;
	if (items && fair) {
		room = (struct survey_room){ most / 2, SURVEY_BYTES / 2, most / 2 / lists,
					     SURVEY_BYTES / 2 / lists, 0 };
		survey_is_long(nodes, items, &room);
	}
	json_array_foreach((json_t *)nodes, i, one) {
		if (items && json_object_get(one, "items"))
			survey_shorten(one, items, &room);
		else if (!items)
			json_object_del(one, "items");
	}
free_items:
	free(items);
}
