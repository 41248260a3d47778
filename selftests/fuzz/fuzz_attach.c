// SPDX-License-Identifier: GPL-2.0-or-later
/* What an end and its agent say: what is taken ends within its members, and encodes to the same bytes; a newer version
 * may have added more behind them. */
#include <stdlib.h>
#include <string.h>

#include "wire/attach.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void same(const uint8_t *again, size_t n, const uint8_t *data, size_t size)
{
	if (n > size || n > ATTACH_SIZE || memcmp(again, data, n))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t again[ATTACH_SIZE];
	struct attached attached;
	struct attach attach;
	struct note note;
	struct kept kept;

	if (!attach_decode(&attach, data, size))
		same(again, attach_encode(&attach, again), data, size);
	if (!attached_decode(&attached, data, size))
		same(again, attached_encode(&attached, again), data, size);
	if (!note_decode(&note, data, size))
		same(again, note_encode(&note, again), data, size);
	if (!kept_decode(&kept, data, size))
		same(again, kept_encode(&kept, again), data, size);
	return 0;
}
