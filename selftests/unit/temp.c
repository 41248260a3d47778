// SPDX-License-Identifier: GPL-2.0-or-later
#include "temp.h"

#include <stdio.h>
#include <stdlib.h>

char *temp_path(char path[TEMP_PATH], const char *name)
{
	const char *dir = getenv("TMPDIR");

	snprintf(path, TEMP_PATH, "%s/%s", dir && *dir ? dir : "/tmp", name);
	return path;
}
