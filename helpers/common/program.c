// SPDX-License-Identifier: GPL-2.0-or-later
#include "program.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRAM_PATH "/usr/local/bin:/usr/bin:/bin" /* without PATH */

static bool program_is(const char *path)
{
	struct stat st;

	return !access(path, X_OK) && !stat(path, &st) && S_ISREG(st.st_mode);
}

int program_find(const char *name, char *path, size_t size)
{
	const char *at = getenv("PATH"), *end;
	const size_t length = strlen(name);
	int err = -ENOENT;
	int folder;

	if (!length)
		return -EINVAL;
	if (strchr(name, '/')) {
		if (length >= size)
			return -ENAMETOOLONG;
		memcpy(path, name, length + 1);
		if (program_is(path))
			return 0;
		return access(path, F_OK) ? -errno : -EACCES;
	}
	if (!at)
		at = PROGRAM_PATH;
	for (;; at = end + 1) {
		end = at + strcspn(at, ":");
		folder = end - at;
		/* an empty entry is the current directory */
		if ((size_t)snprintf(path, size, "%.*s/%s", folder ? folder : 1, folder ? at : ".",
				     name) < size) {
			if (program_is(path))
				return 0;
			if (!access(path, F_OK))
				err = -EACCES;
		}
		if (!*end)
			return err;
	}
}
