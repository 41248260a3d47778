// SPDX-License-Identifier: GPL-2.0-or-later
/* A stream of frames as a receiver reads it: what is taken is within its limits, and writes back as it was. */
#include <stdlib.h>
#include <string.h>

#include "job/link.h"
#include "job/message.h"
#include "wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was taken encodes to the same bytes; a newer version may have added more behind them. */
static bool fuzz_differs(const uint8_t *again, size_t n, const uint8_t *data, size_t size)
{
	return n > size || memcmp(again, data, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	while (size >= FRAME_HEADER) {
		static uint8_t message[JOB_MESSAGE_MAX];
		uint8_t again[FRAME_HEADER];
		struct job_message m;
		enum frame_type type;
		uint32_t length;

		if (frame_parse(data, &type, &length))
			break;
		if (length > frame_limit(type))
			abort();
		frame_header(again, type, length);
		if (memcmp(again, data, FRAME_HEADER))
			abort();
		data += FRAME_HEADER;
		size -= FRAME_HEADER;
		if (length > size)
			break;
		/* Between the two ends of a job: a header of its own, then a message. */
		if (type == FRAME_LINK && length >= LINK_HEADER &&
		    !job_message_decode(&m, frame_get_u32(data + LINK_HEADER - 4),
					data + LINK_HEADER, length - LINK_HEADER) &&
		    fuzz_differs(message, job_message_encode(&m, message), data + LINK_HEADER,
				 length - LINK_HEADER))
			abort();
		data += length;
		size -= length;
	}
	return 0;
}
