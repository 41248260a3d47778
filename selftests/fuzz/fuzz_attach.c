// SPDX-License-Identifier: GPL-2.0-or-later
/* What an end and its agent say, and home's agent of a caller: what is taken ends within its members, and encodes to
 * the same bytes; a newer version may have added more behind them. */
#include <stdlib.h>
#include <string.h>

#include "wire/attach.h"
#include "wire/caller.h"
#include "wire/seen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void same(const uint8_t *again, size_t n, const uint8_t *data, size_t size)
{
	if (n > size || n > ATTACH_SIZE || memcmp(again, data, n))
		abort();
}

static void fuzz_caller(const uint8_t *data, size_t size)
{
	struct caller caller;
	uint8_t *again;

	if (caller_decode(&caller, data, size))
		return;
	if (caller_size(&caller) > size)
		abort();
	again = malloc(caller_size(&caller));
	if (!again)
		abort();
	caller_encode(&caller, again);
	if (memcmp(again, data, caller_size(&caller)))
		abort();
	free(again);
	caller_free(&caller);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t again[ATTACH_SIZE];
	struct attached attached;
	struct attach attach;
	struct note note;
	struct kept kept;
	struct seen seen;

	if (!attach_decode(&attach, data, size))
		same(again, attach_encode(&attach, again), data, size);
	if (!attached_decode(&attached, data, size))
		same(again, attached_encode(&attached, again), data, size);
	if (!note_decode(&note, data, size))
		same(again, note_encode(&note, again), data, size);
	if (!kept_decode(&kept, data, size))
		same(again, kept_encode(&kept, again), data, size);
	if (!seen_decode(&seen, data, size)) {
		seen_encode(&seen, again);
		same(again, SEEN_SIZE, data, size);
	}
	fuzz_caller(data, size);
	return 0;
}
