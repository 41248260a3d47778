// SPDX-License-Identifier: GPL-2.0-or-later
#include "name.h"

#include <string.h>
#include <strings.h>

enum name_fit name_fits(const char *name, const char *host, const struct address *address)
{
	const size_t length = strlen(name);

	if (!strcasecmp(host, name) || address_is(address, name))
		return NAME_FULL;
	return length && !strncasecmp(host, name, length) && host[length] == '.' ? NAME_SHORT
										 : NAME_NOT;
}
