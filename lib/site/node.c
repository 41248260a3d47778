// SPDX-License-Identifier: GPL-2.0-or-later
#include "node.h"

#include <stdbool.h>
#include <strings.h>

static bool node_is_in(char *const *list, size_t n, const char *host)
{
	for (size_t i = 0; i < n; i++)
		if (!strcasecmp(list[i], host))
			return true;
	return false;
}

enum site_answer site_node(const struct site_node *rule, const char *host)
{
	if (node_is_in(rule->deny, rule->ndeny, host))
		return SITE_DENIED;
	return !rule->nallow || node_is_in(rule->allow, rule->nallow, host) ? SITE_MAY
									    : SITE_NOT_ALLOWED;
}
