// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages about files as either side reads them: what is taken is within its limits, and writes back as it was. */
#include <stdlib.h>
#include <string.h>

#include "wire/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_entries(const struct files_message *m)
{
	const uint8_t *at = m->data, *before = at, *end = at + m->length;
	uint8_t again[FILES_ENTRY_MAX];
	struct files_entry e;

	while (files_entry_decode(&e, &at, end)) {
		size_t n = files_entry_encode(again, &e.attr, e.name);

		if (n != (size_t)(at - before) || memcmp(again, before, n))
			abort();
		before = at;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct files_message m;
	uint8_t again[FILES_HEAD_MAX];
	long length;
	size_t n;

	while ((length = files_length(data, size)) > 0 && (size_t)length <= size) {
		if (length > FILES_HEADER + FILES_BODY_MAX)
			abort();
		if (files_decode(&m, data, length))
			break;
		n = files_encode(again, &m);
		/* but for the length: a newer version may have added more behind it */
		if (n + m.length > (size_t)length || memcmp(again + 4, data + 4, n - 4) ||
		    strlen(m.name) > FILES_NAME_MAX || strlen(m.text) > FILES_TEXT_MAX ||
		    (m.length && m.data + m.length != data + length))
			abort();
		if (m.op == (FILES_LIST | FILES_ANSWER) || m.op == (FILES_READDIR | FILES_ANSWER))
			fuzz_entries(&m);
		data += length;
		size -= length;
	}
	return 0;
}
