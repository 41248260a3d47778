// SPDX-License-Identifier: GPL-2.0-or-later
#include "whole.h"

#include "client.h"
#include "tools/common/common.h"

#define WHOLE_NAMED 8

void whole_print_missing(const json_t *reply, bool more)
{
	const json_t *silent = json_object_get(reply, "silent"), *node;
	const size_t n = json_array_size(silent);
	char names[512] = "";
	size_t i, used = 0;

	json_array_foreach((json_t *)silent, i, node)
		if (i < WHOLE_NAMED)
			used += snprintf(names + used, sizeof(names) - used, "%s%.48s",
					 i ? ", " : "", client_host(node, "node"));
	if (n > WHOLE_NAMED)
		fail(0, "no answer from %s and %zu others: what they know is not listed", names,
		     n - WHOLE_NAMED);
	else if (n)
		fail(0, "no answer from %s: what %s not listed", names,
		     n == 1 ? "it knows is" : "they know is");
	json_array_foreach(json_object_get(reply, "refused"), i, node)
		fail(0, "%s tells nothing: %s", client_host(node, "node"),
		     text_of(node, "refused"));
	if (more && json_is_true(json_object_get(reply, "more")))
		fail(0, "there are more than a list can have");
}
