// SPDX-License-Identifier: GPL-2.0-or-later
#include "launch.h"

#include <string.h>
#include <linux/ehsched.h>

/* Whether a component is "..". */
static bool paths_climb(const char *path)
{
	for (; (path = strstr(path, "/..")); path += 3)
		if (!path[3] || path[3] == '/')
			return true;
	return false;
}

const char *paths_take(const char **at, const char *end)
{
	const char *path = *at, *nul = path < end ? memchr(path, 0, end - path) : NULL;

	if (!nul || path[0] != '/' || nul - path > EHS_PATH_MAX || paths_climb(path))
		return NULL;
	*at = nul + 1;
	return path;
}
