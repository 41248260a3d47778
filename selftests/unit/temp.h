/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths in the test's own directory (TMPDIR), where the runner finds what is left. */
#ifndef TEMP_H
#define TEMP_H

#include <stdio.h>
#include <stdlib.h>

#define TEMP_PATH 48

/** Writes the path of `name` there, as mkstemp() and mkdtemp() take it. Returns `path`. */
static inline char *temp_path(char path[TEMP_PATH], const char *name)
{
	const char *dir = getenv("TMPDIR");

	snprintf(path, TEMP_PATH, "%s/%s", dir && *dir ? dir : "/tmp", name);
	return path;
}

#endif
