// SPDX-License-Identifier: GPL-2.0-or-later
/* A stream of frames as a receiver reads it: what is taken is within its limits, and writes back as it was. */
#include <stdlib.h>
#include <string.h>

#include "wire/frame.h"
#include "wire/terminal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	while (size >= FRAME_HEADER) {
		uint8_t again[FRAME_HEADER], exit_again[FRAME_EXIT_SIZE];
		uint8_t terminal_again[TERMINAL_SIZE];
		struct terminal t;
		struct frame_exit x;
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
		if (type == FRAME_EXIT && !frame_exit_decode(&x, data, length)) {
			frame_exit_encode(exit_again, &x);
			if (memcmp(exit_again, data, FRAME_EXIT_SIZE))
				abort();
		}
		if (type == FRAME_TERMINAL && !terminal_decode(&t, data, length)) {
			terminal_encode(terminal_again, &t);
			if (memcmp(terminal_again, data, TERMINAL_SIZE))
				abort();
		}
		data += length;
		size -= length;
	}
	return 0;
}
