// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files that arguments name, both ways: as a list from another agent, whose paths
 * stay inside it, and as arguments, whose list is within its limit and no protocol
 * error. Files are only looked at; whether they are the same is their own affair.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/agent.h"
#include "job/argfiles.h"
#include "wire/frame.h"


int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_list(const uint8_t *data, size_t size)
{
	const char *path = NULL;
	int err;

	err = argfiles_check(data, size, &path);
	if (err && err != -EXDEV && err != -EPROTO)
		abort();
	if (err == -EXDEV && (path < (const char *)data || path >= (const char *)data + size ||
			      *path != '/' || !memchr(path, 0, (const char *)data + size - path)))
		abort();
}

static void fuzz_arguments(const char *text, size_t size)
{
	const char *argv[300] = { "program" }, *path;
	struct job_spec spec = { .argc = 1, .argv = argv };
	uint8_t *payload;
	size_t length;
	int err;

	for (size_t at = 0; at < size && spec.argc < 299; at += strlen(text + at) + 1)
		argv[spec.argc++] = text + at;
	err = argfiles_encode(&spec, &payload, &length, &path);
	if (err && (err != -EXDEV || payload))
		abort();
	if (!err && (length > frame_limit(FRAME_NAMED) || !length != !payload ||
		     argfiles_check(payload, length, &path) == -EPROTO))
		abort();
	free(payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	fuzz_list(data, size);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	fuzz_arguments(text, size);
	free(text);
	return 0;
}
