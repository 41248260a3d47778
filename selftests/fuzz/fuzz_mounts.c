// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any text in the place of /proc/self/mounts, where who may mount says what he likes: only absolute paths
 * are named, none of a kernel's file system, and each of them is found again.
 */
#include <mntent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "home/mounts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *text;
static size_t text_size;

/* Before libc's. */
FILE *setmntent(const char *path, const char *mode)
{
	return text_size ? fmemopen((void *)text, text_size, "r") : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *paths = json_array(), *item;
	size_t i;

	text = data;
	text_size = size;
	mounts_list(paths);
	json_array_foreach(paths, i, item) {
		char *path = json_is_string(item) ? strdup(json_string_value(item)) : NULL;

		if (!path || path[0] != '/' || !path[1] || strchr(path, ',') ||
		    !strcmp(path, "/proc") || !strncmp(path, "/proc/", 6) || !mounts_has(path))
			abort();
		free(path);
	}
	json_decref(paths);
	return 0;
}
