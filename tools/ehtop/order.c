// SPDX-License-Identifier: GPL-2.0-or-later
#include "order.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/common.h"
#include "tools/ehctl/client.h"

static const char *const order_names[] = { "code", "busy", "memory", "longest", "name" };

const char *order_name(enum order by)
{
	return order_names[by];
}

struct order_item {
	json_t *item;
	double key; /* the highest first */
	const char *name;
	size_t place; /* what is equal stays as it was */
};

static bool order_has(const json_t *item, const char *member, const char *filter)
{
	const char *text = json_string_value(json_object_get(item, member));

	return text && strcasestr(text, filter);
}

/* Whether what is shown of it has the filter in it: codes and the like would be found where nobody sees them. */
static bool order_matches(const json_t *item, const char *filter)
{
	static const char *const members[] = { "user", "command", "reason", "short" };
	static const char *const nodes[] = { "node", "home", "executor" };
	const json_t *drain = json_object_get(item, "drain");
	const bool task = json_object_get(item, "executor");
	const char *agent = text_of(item, "agent");
	char session[SESSION_NAME];

	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		if (order_has(item, members[i], filter))
			return true;
	for (size_t i = task; i < (task ? 3 : 1); i++)
		if (strcasestr(client_host(item, nodes[i]), filter))
			return true;
	if (task)
		return order_has(item, "state", filter) ||
		       strcasestr(client_session(item, session), filter);
	return strcasestr(strcmp(agent, "up") ? "down" : client_state(item), filter) ||
	       order_has(drain, "reason", filter) || order_has(drain, "by", filter);
}

/* NULL and what is no number come last. */
static double order_number(const json_t *value)
{
	return json_is_number(value) ? json_number_value(value) : -INFINITY;
}

static double order_key(const json_t *item, enum order by)
{
	const json_t *load = json_object_get(item, "load");
	const double threshold = json_number_value(json_object_get(item, "threshold"));

	switch (by) {
	case ORDER_BUSY:
		return !load		    ? order_number(json_object_get(item, "cpu"))
		       : json_is_null(load) ? -INFINITY
		       : threshold > 0	    ? json_number_value(load) / threshold
					    : INFINITY;
	case ORDER_MEMORY:
		return order_number(json_object_get(item, "memory"));
	case ORDER_LONG:
		return order_number(json_object_get(item, "elapsed"));
	default:
		return 0;
	}
}

static int order_compare(const void *a, const void *b)
{
	const struct order_item *x = a, *y = b;
	int names = x->name ? strcmp(x->name, y->name) : 0;

	if (x->key != y->key)
		return x->key < y->key ? 1 : -1;
	return names ?: x->place < y->place ? -1 : 1;
}

json_t *order_list(const json_t *list, enum order by, const char *filter)
{
	struct order_item *items = calloc(json_array_size(list) + 1, sizeof(*items));
	json_t *ordered = json_array(), *item;
	size_t i, n = 0;

	if (!items || !ordered)
		goto free_items;
	json_array_foreach((json_t *)list, i, item) {
		if (*filter && !order_matches(item, filter))
			continue;
		items[n++] = (struct order_item){ item, order_key(item, by),
						  by != ORDER_NAME ? NULL
						  : json_object_get(item, "command")
							  ? text_of(item, "command")
							  : text_of(item, "host"),
						  i };
	}
	qsort(items, n, sizeof(*items), order_compare);
	for (i = 0; i < n; i++)
		json_array_append(ordered, items[i].item);
	free(items);
	return ordered;

free_items:
	free(items);
	json_decref(ordered);
	return NULL;
}
