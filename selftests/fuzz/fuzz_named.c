// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files that arguments name, both ways: as a list from another agent, whose paths stay inside it, and as
 * arguments, whose paths come back from the list that is made of them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "wire/frame.h"
#include "wire/named.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_list(const uint8_t *data, size_t size)
{
	const char *path = NULL;
	int err;

	err = named_check(data, size, &path);
	if (err && err != -EXDEV && err != -EBADMSG)
		abort();
	if (err == -EXDEV && (path < (const char *)data || path >= (const char *)data + size ||
			      *path != '/' || !memchr(path, 0, (const char *)data + size - path)))
		abort();
}

static void fuzz_argument(const char *argument)
{
	static uint8_t list[FRAME_NAMED_MAX];
	struct named n = { .type = S_IFREG, .size = 7, .mtime_ns = ~0ull - 1 }, back;
	const uint8_t *at = list;
	size_t length;

	n.path = named_path(argument);
	if (!n.path)
		return;
	length = named_put(list, sizeof(list), &n);
	if (!length || named_put(list, length - 1, &n) || named_put(list, length, &n) != length)
		abort();
	if (named_next(&at, list + length, &back) != 1 || at != list + length ||
	    strcmp(back.path, n.path) || back.type != n.type || back.size != n.size ||
	    back.mtime_ns != n.mtime_ns)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	fuzz_list(data, size);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	for (size_t at = 0; at < size; at += strlen(text + at) + 1)
		fuzz_argument(text + at);
	free(text);
	return 0;
}
